// Finding out what a save on the disk consists of, and finishing what a crash interrupted.
#pragma once

#include <optional>

#include "io/vfs.h"
#include "store/nebula/catalog.h"
#include "store/nebula/save_writer.h"

namespace varve::nebula {

struct FoundSave {
  SaveIndex index;
  // Where the catalog goes on; nullopt if it must be written anew before the first commit.
  std::optional<CatalogEnd> end = {};
  // What its catalog says was erased, and may still be there.
  std::vector<RecordKey> erased = {};
  OpenReport report = {};
};

// Whether a directory is a save of this format: it has a catalog of ours, or what the format's
// own program leaves.
Result<bool> is_save(Vfs& vfs, const SaveLayout& layout);

// Reads the catalog and changes nothing. A save without one, or with a damaged one, is taken
// as its files are.
Result<FoundSave> find_save(Vfs& vfs, const SaveLayout& layout);

// Brings a save whose writer lock is held into order: finishes the commits that were made,
// removes what is left of others. Afterwards every file is in place.
Result<SaveWriter> recover_save(Vfs& vfs, const SaveLayout& layout, FoundSave& found);

}  // namespace varve::nebula
