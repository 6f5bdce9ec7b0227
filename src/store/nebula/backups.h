// The numbered backups of a save.
//
// Each is a save of its own, which shares the files that are the same with the one in front
// of it: backup 1 with the save, backup 2 with backup 1. To rotate, the last one takes over
// what differs in the one in front of it, and so on, until the first takes over what
// differs in the save. That costs what was changed, not what there is.
//
// Each step is a commit of the backup it changes, so a crash leaves every backup whole. It may
// leave two of them the same; then the second is free, and the next rotation goes no
// further than to it.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/vfs.h"
#include "store/nebula/save_index.h"
#include "store/nebula/save_writer.h"

namespace varve::nebula {

class Backups {
 public:
  Backups(Vfs& vfs, SaveLayout save) : vfs_(vfs), save_(std::move(save)) {}

  // Makes `save`, all of whose files are in place, the newest of `count` backups. If it is
  // that already, nothing happens. Returns how many bytes were written.
  Result<std::uint64_t> rotate(const SaveIndex& save, std::uint32_t count);
  // The save has changed these files.
  void note(const std::vector<IndexChange>& changes);
  // Removes those beyond `count`.
  Status trim(std::uint32_t count);

 private:
  struct Slot {
    SaveIndex index = {};
    // Files that may not be the same in the one in front of it.
    KeySet behind = {};
    // What its catalog must go on listing as erased.
    KeySet erased = {};
    // How its catalog looked when we last saw it; another program may have written it since.
    CatalogEnd catalog_end = {};
    CatalogMark catalog_mark = {};
  };

  SaveLayout layout(std::size_t number) const;
  const SaveIndex& index_before(std::size_t number, const SaveIndex& save) const;
  Status load(const SaveIndex& save, std::uint32_t count);
  Status load_slot(std::size_t number, const SaveIndex& in_front);
  // Whether a rotation may overwrite it because it adds nothing to the one in front of it.
  bool is_free(std::size_t number, const SaveIndex& save) const;
  Status remember_catalog(std::size_t number, const CatalogEnd& end);
  Result<std::uint64_t> bring_up(std::size_t number, const SaveIndex& target);
  Result<std::uint64_t> make_anew(std::size_t number, std::uint32_t count, const SaveIndex& target);
  Status make_room(std::size_t number, std::uint32_t count);

  Vfs& vfs_;
  const SaveLayout save_;
  // As far as trim() has looked; nothing but a rotation makes more.
  std::optional<std::uint32_t> trimmed_to_;
  // slots_[0] is backup 1; nullopt: there is none, or none that can be used.
  std::vector<std::optional<Slot>> slots_;
};

// The numbers of the backups there are, sorted.
Result<std::vector<std::uint32_t>> list_backups(Vfs& vfs, const SaveLayout& save);

}  // namespace varve::nebula
