// Changing the files of one save so that a crash leaves all of a commit or nothing of it.
//
//   1. stage:  new contents are written beside the save, and synced
//   2. append: the catalog gets a record of what changes. Synced, it is the commit.
//   3. place:  the new contents are renamed over the old ones
//
// Whoever opens the save after a crash does step 3 for the last commits; whoever reads it
// meanwhile finds contents where they are. So nothing after step 2 needs to be durable, and
// nothing that fails there is a failure of the commit.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/vfs.h"
#include "store/nebula/catalog_file.h"
#include "store/nebula/save_index.h"

namespace varve::nebula {

struct FileChange {
  RecordKey key = {};
  std::optional<Bytes> payload = {};  // nullopt erases
};

struct StagedFiles {
  std::vector<IndexChange> changes = {};
  std::uint64_t sequence = 0;  // for the record they come with
  std::uint64_t written_size = 0;
  bool are_links = false;  // to files of another save
};

class SaveWriter {
 public:
  // `sequence` is that of the newest record. Without a catalog one is written before the
  // first commit.
  SaveWriter(Vfs& vfs, SaveLayout layout, std::uint64_t sequence,
             std::optional<CatalogFile> catalog, KeySet erased = {})
      : vfs_(vfs),
        layout_(std::move(layout)),
        last_sequence_(sequence),
        catalog_(std::move(catalog)),
        erased_(std::move(erased)) {}

  // Makes sure that there is a catalog to append to. `index` is what is committed now.
  Status prepare(const SaveIndex& index);

  // Step 1. If it fails, nothing is left behind.
  Result<StagedFiles> stage(std::span<const FileChange> changes, Progress& progress,
                            double progress_share);
  // The same with files of another save instead of contents: `changes` are entries of it.
  Result<StagedFiles> stage_links(const SaveLayout& from, std::vector<IndexChange> changes,
                                  std::uint64_t sequence);
  // Takes step 1 back.
  void discard(const StagedFiles& staged) noexcept;

  // Step 2. `before` is the generation it changes. A failure leaves the commit in doubt: it
  // may be found after a crash. Until then it did not happen, and prepare() makes sure that
  // it never will have. What was staged is the writer's from here on.
  Status append(const CatalogRecord& record, const StagedFiles& staged, const SaveIndex& before);

  // Step 3, which cannot fail. Contents that are replaced are kept aside if a view of that
  // sequence or a later one may read them.
  void place(std::optional<std::uint64_t> newest_view_sequence) noexcept;
  // Success if everything is in place, after trying again what was not.
  Status finish_placing() noexcept;

  // Of the catalog there is.
  const CatalogEnd& catalog_end() const noexcept { return catalog_->end(); }

  // What the catalog must go on listing as erased.
  const KeySet& erased() const noexcept { return erased_; }

  // Rewrites the catalog to what `index` lists. Returns its sizes.
  Result<CompactReport> compact(const SaveIndex& index);

  // Says in the catalog that nothing is left to do.
  Status close(const SaveIndex& index);

 private:
  struct Move {
    RecordKey key;
    std::optional<FileEntry> entry;     // nullopt: the file is removed
    std::optional<FileEntry> replaced;  // what is there now
    bool keep_replaced = false;
    bool may_be_in_place = false;  // the same file, under another name
    bool is_new = true;
    bool is_done = false;
  };
  Status make_move(const Move& move);
  void discard_leftovers();
  Status reserve(const StagedFiles& staged, const SaveIndex& before);
  void forget_erased(const SaveIndex& index);
  Status install_new_catalog(std::uint64_t size);
  Result<std::uint64_t> write_group(std::span<const FileChange> changes,
                                    std::span<const IndexChange> entries);

  Vfs& vfs_;
  const SaveLayout layout_;
  std::uint64_t last_sequence_;
  std::optional<CatalogFile> catalog_;
  // What was erased since the catalog last forgot about it. A crash brings back files whose
  // removal is not durable; whoever opens the save removes them by this list.
  KeySet erased_;
  // What place() could not do yet, in order.
  std::vector<Move> moves_;
  // Staged for commits in doubt; needed should these turn out to have happened.
  std::vector<StagedFiles> in_doubt_;
  bool has_leftovers_ = false;
};

}  // namespace varve::nebula
