// Which files make up one generation of a save.
//
// A generation is immutable once it was handed out; the next one shares with it whatever
// did not change, so that a pinned view and a backup's generation cost one copy.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/persistent_map.h"
#include "store/nebula/save_layout.h"
#include "varve/store.h"

namespace varve::nebula {

struct FileEntry {
  FileId id = {};
  std::uint64_t payload_size = 0;  // decoded; 0 where `checked` is not set
  std::uint64_t checksum = 0;      // xxh3 of the decoded payload
  // Whether size and checksum are known. They are not for files another program wrote.
  bool checked = true;
  // Made by us so that other programs find the file. No record of the game's.
  bool placeholder = false;

  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

struct IndexChange {
  RecordKey key = {};
  std::optional<FileEntry> entry = {};  // nullopt erases
};

struct KeyOrder {
  bool operator()(const RecordKey& a, const RecordKey& b) const noexcept;
};
using KeySet = std::set<RecordKey, KeyOrder>;

struct SaveIndex {
  std::uint64_t sequence = 0;  // of the newest catalog record
  std::uint64_t generation = 0;
  std::uint64_t tick = 0;
  std::optional<GeneratorId> generator = {};
  PersistentMap<ChunkPos, FileEntry> chunks = {};
  PersistentMap<std::string, FileEntry> players = {};
  PersistentMap<std::string, FileEntry> globals = {};
  std::optional<FileEntry> scene = {};

  const FileEntry* find(const RecordKey& key) const noexcept;
  void apply(const MapEdit& edit, const IndexChange& change);
  void apply(const std::vector<IndexChange>& changes);
  std::size_t file_count() const noexcept {
    return chunks.size() + players.size() + globals.size() + (scene ? 1 : 0);
  }

  // Calls visit(key, entry) for every file, until it returns false. False if it did.
  template <class Visit>
  bool visit(Visit&& visit) const {
    RecordKey key{.kind = RecordKind::chunk};
    const auto chunk = [&](const ChunkPos& pos, const FileEntry& entry) {
      key.pos = pos;
      return visit(std::as_const(key), entry);
    };
    const auto named = [&](const std::string& name, const FileEntry& entry) {
      key.name = name;
      return visit(std::as_const(key), entry);
    };
    if (!chunks.visit(chunk)) return false;
    if (scene && !visit(scene_key(), *scene)) return false;
    key = {.kind = RecordKind::player};
    if (!players.visit(named)) return false;
    key.kind = RecordKind::global;
    return globals.visit(named);
  }
};

// Whether both are known to name the same contents. Of files another program wrote nobody
// knows: the next time it is found, their ids say something else.
inline bool is_same_file(const FileEntry* a, const FileEntry* b) noexcept {
  return a == nullptr || b == nullptr ? a == b : *a == *b && a->checked;
}

// Every key whose file may not be the same in both.
KeySet difference(const SaveIndex& a, const SaveIndex& b);

}  // namespace varve::nebula
