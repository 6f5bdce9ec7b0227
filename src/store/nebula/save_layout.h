// Where things are in a nebula save. Paths as text; no disk is asked.
//
//   world.ron, entities.bin, chunks/    what the format's own programs read
//   players/, globals/, other files     what they do not know of
//   quarantine/                         damaged files, kept for a person
//   varve/                              how we keep all of that whole; docs/formats/nebula_v1.md
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/save_folder.h"
#include "varve/key.h"

namespace varve::nebula {

// Which contents a file has. No two contents of one save ever had the same.
struct FileId {
  std::uint64_t version = 0;  // the sequence of the catalog record that brought it
  std::uint64_t number = 0;   // its place in that record

  friend auto operator<=>(const FileId&, const FileId&) = default;
};

class SaveLayout {
 public:
  explicit SaveLayout(std::string_view root);

  const std::string& root() const noexcept { return root_; }

  // The file that holds a record. All entities are in one, so their key has no id.
  std::string file(const RecordKey& key) const;
  // Contents that wait to be renamed into place, and contents a pinned view still reads.
  std::string staged(const FileId& id) const;
  std::string held(const FileId& id) const;

  std::string catalog() const { return in("varve/catalog"); }
  std::string lock() const { return in("varve/lock"); }
  // Anything by its path inside the save; "" is the save.
  std::string in(std::string_view relative) const;

 private:
  std::string root_;
};

// Folders of every save, each behind the one it lies in.
inline constexpr std::array<std::string_view, 6> kFolders = {
    "chunks", "players", "globals", "varve", "varve/staged", "varve/held"};
// Those of them that hold records; "" is the save itself.
inline constexpr std::array<std::string_view, 4> kRecordFolders = {"chunks", "players", "globals",
                                                                   ""};
inline constexpr std::string_view kQuarantineFolder = "quarantine";

// The record a file holds, by the folder it is in ("chunks", "players", "globals", or "" for
// the save itself) and its name; nullopt for files that hold none. A long name of a player
// or a global cannot be read back from its file.
std::optional<RecordKey> key_of_file(std::string_view folder, std::string_view name);

// "17-3", as in varve/staged.
std::optional<FileId> parse_file_id(std::string_view name);

inline RecordKey scene_key() { return {.kind = RecordKind::entity}; }

using varve::backup_path;

}  // namespace varve::nebula
