#include "store/nebula/save_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"
#include "store/nebula/save_files.h"
#include "store/save_folder.h"
#include "varve/checksum.h"

namespace varve::nebula {
namespace {

// Open at once. Enough to sync in parallel, and far from the limit of a process.
constexpr std::size_t kGroupSize = 64;

Error gone(const SaveLayout& layout) {
  return io_error(fmt::format(
      "the save at {} is gone: somebody removed or renamed it while it was open. Nothing in "
      "memory is lost; save it somewhere else",
      layout.root()));
}

}  // namespace

Status SaveWriter::prepare(const SaveIndex& index) {
  // What is out of place stays readable, so that a failure here may wait.
  (void)finish_placing();
  VARVE_ASSIGN(const bool is_there, vfs_.exists(layout_.in("varve/staged")));
  if (!is_there) return gone(layout_);
  discard_leftovers();
  if (catalog_ && !catalog_->is_bloated()) return {};
  if (catalog_) forget_erased(index);
  const auto size = CatalogFile::write_new(vfs_, layout_, index, erased_);
  // One that is merely long will do, on a disk too full for another.
  if (!size && catalog_ && !catalog_->is_full()) return {};
  if (!size) return size.error();
  return install_new_catalog(*size);
}

Status SaveWriter::install_new_catalog(std::uint64_t size) {
  catalog_.reset();
  VARVE_ASSIGN(catalog_, CatalogFile::install_new(vfs_, layout_, size));
  // Commits in doubt were in the catalog that is no more.
  for (const StagedFiles& staged : in_doubt_) discard(staged);
  in_doubt_.clear();
  return {};
}

// Makes the removals durable. If that fails, they stay in the list.
void SaveWriter::forget_erased(const SaveIndex& index) {
  std::erase_if(erased_, [&](const RecordKey& key) { return index.find(key) != nullptr; });
  if (erased_.empty() || !moves_.empty()) return;
  std::set<std::string> folders;
  for (const RecordKey& key : erased_) folders.emplace(path_parent(layout_.file(key)));
  for (const std::string& folder : folders) {
    if (!vfs_.sync_dir(folder)) return;
  }
  erased_.clear();
}

Result<StagedFiles> SaveWriter::stage(std::span<const FileChange> changes, Progress& progress,
                                      double progress_share) {
  StagedFiles staged{.sequence = ++last_sequence_};
  const std::size_t count = changes.size();
  staged.changes.reserve(count);
  bool any = false;
  for (const FileChange& change : changes) {
    IndexChange& entry = staged.changes.emplace_back(IndexChange{.key = change.key});
    if (!change.payload) continue;
    any = true;
    entry.entry = FileEntry{.id = {staged.sequence, staged.changes.size() - 1},
                            .payload_size = change.payload->size(),
                            .checksum = xxh3(*change.payload)};
  }
  const auto write_all = [&]() -> Status {
    for (std::size_t begin = 0; begin < count; begin += kGroupSize) {
      if (progress.is_cancelled()) return cancelled("the commit was cancelled");
      const std::size_t size = std::min(kGroupSize, count - begin);
      VARVE_ASSIGN(const std::uint64_t written,
                   write_group(changes.subspan(begin, size),
                               std::span<const IndexChange>(staged.changes).subspan(begin, size)));
      staged.written_size += written;
      progress.report(progress_share * static_cast<double>(begin + size) /
                      static_cast<double>(count));
    }
    if (any) VARVE_TRY(vfs_.sync_dir(layout_.in("varve/staged")));
    return {};
  };
  if (Status written = or_out_of_memory(write_all); !written) {
    discard(staged);
    return written.error();
  }
  return staged;
}

Result<std::uint64_t> SaveWriter::write_group(std::span<const FileChange> changes,
                                              std::span<const IndexChange> entries) {
  std::uint64_t written_size = 0;
  std::vector<std::unique_ptr<File>> files;
  std::vector<File*> to_sync;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!changes[i].payload) continue;
    VARVE_ASSIGN(const Bytes contents, encode_file(changes[i].key.kind, *changes[i].payload));
    VARVE_ASSIGN(auto file, vfs_.open(layout_.staged(entries[i].entry->id), OpenMode::create_new));
    VARVE_TRY(file->write_at(0, contents));
    written_size += contents.size();
    to_sync.push_back(file.get());
    files.push_back(std::move(file));
  }
  VARVE_TRY(vfs_.sync_data(to_sync));
  for (const auto& file : files) VARVE_TRY(file->close());
  return written_size;
}

Result<StagedFiles> SaveWriter::stage_links(const SaveLayout& from,
                                            std::vector<IndexChange> changes,
                                            std::uint64_t sequence) {
  StagedFiles staged{.changes = std::move(changes), .sequence = sequence, .are_links = true};
  const auto link_all = [&]() -> Status {
    bool any = false;
    for (const IndexChange& change : staged.changes) {
      if (!change.entry) continue;
      const Status shared =
          share_file(vfs_, from.file(change.key), layout_.staged(change.entry->id));
      // A file that is missing there is missing here, and reads as that.
      if (!shared && shared.error().code() != ErrorCode::not_found) return shared;
      any = true;
    }
    if (any) VARVE_TRY(vfs_.sync_dir(layout_.in("varve/staged")));
    return {};
  };
  if (Status linked = or_out_of_memory(link_all); !linked) {
    discard(staged);
    return linked.error();
  }
  last_sequence_ = sequence;
  return staged;
}

void SaveWriter::discard(const StagedFiles& staged) noexcept {
  const Status removed = or_out_of_memory([&]() -> Status {
    for (const IndexChange& change : staged.changes) {
      if (change.entry) VARVE_TRY(remove_if_there(vfs_, layout_.staged(change.entry->id)));
    }
    return {};
  });
  if (!removed) has_leftovers_ = true;
}

// Removes what discard() could not. What stays even now goes when the save is opened again.
void SaveWriter::discard_leftovers() {
  if (!has_leftovers_) return;
  std::set<std::string> needed;
  for (const Move& move : moves_) {
    if (move.entry) needed.insert(layout_.staged(move.entry->id));
  }
  for (const StagedFiles& staged : in_doubt_) {
    for (const IndexChange& change : staged.changes) {
      if (change.entry) needed.insert(layout_.staged(change.entry->id));
    }
  }
  const std::string folder = layout_.in("varve/staged");
  const auto entries = vfs_.list(folder);
  if (!entries) return;
  has_leftovers_ = false;
  for (const DirEntry& entry : *entries) {
    const std::string path = path_join(folder, entry.name);
    if (!needed.contains(path) && !vfs_.remove(path)) has_leftovers_ = true;
  }
}

Status SaveWriter::append(const CatalogRecord& record, const StagedFiles& staged,
                          const SaveIndex& before) {
  // All memory first: once the record is durable nothing may fail.
  if (Status reserved = or_out_of_memory([&] { return reserve(staged, before); }); !reserved) {
    discard(staged);
    return reserved;
  }
  Status appended = or_out_of_memory([&] { return catalog_->append(record); });
  if (!appended) {
    moves_.erase(moves_.end() - static_cast<std::ptrdiff_t>(staged.changes.size()), moves_.end());
    catalog_.reset();
    return appended;
  }
  in_doubt_.pop_back();
  return {};
}

// Notes what is to be done, or nothing.
Status SaveWriter::reserve(const StagedFiles& staged, const SaveIndex& before) {
  // Too many keys here are harmless.
  for (const IndexChange& change : staged.changes) {
    if (!change.entry) erased_.insert(change.key);
  }
  std::vector<Move> moves;
  moves.reserve(staged.changes.size());
  for (const IndexChange& change : staged.changes) {
    const FileEntry* old = before.find(change.key);
    moves.push_back(
        {.key = change.key,
         .entry = change.entry,
         .replaced = old != nullptr ? std::optional(*old) : std::nullopt,
         // Only of unchecked ones nobody knows that they are others.
         .may_be_in_place = staged.are_links && change.entry && !change.entry->checked});
  }
  moves_.reserve(moves_.size() + moves.size());
  in_doubt_.push_back(staged);
  for (Move& move : moves) moves_.push_back(std::move(move));
  return {};
}

void SaveWriter::place(std::optional<std::uint64_t> newest_view_sequence) noexcept {
  for (Move& move : moves_) {
    if (!std::exchange(move.is_new, false)) continue;
    move.keep_replaced =
        newest_view_sequence && move.replaced && move.replaced->id.version <= *newest_view_sequence;
  }
  (void)finish_placing();
}

Status SaveWriter::make_move(const Move& move) {
  const std::string file = layout_.file(move.key);
  if (move.keep_replaced) {
    const std::string held = layout_.held(move.replaced->id);
    // An earlier try may have got this far.
    VARVE_ASSIGN(const bool is_held, vfs_.exists(held));
    Status kept = is_held ? Status() : share_file(vfs_, file, held);
    // One that is not there cannot be kept; whoever reads it is told so.
    if (!kept && kept.error().code() != ErrorCode::not_found) return kept;
  }
  if (!move.entry) return remove_from_place(vfs_, layout_, move.key);
  const std::string staged = layout_.staged(move.entry->id);
  Status renamed = put_in_place(vfs_, layout_, staged, move.key);
  // Of two names of one file, a rename leaves both.
  if (renamed && move.may_be_in_place) return remove_if_there(vfs_, staged);
  if (renamed || renamed.error().code() != ErrorCode::not_found) return renamed;
  // An earlier try that was reported as failed did it all the same.
  VARVE_ASSIGN(const bool is_staged, vfs_.exists(staged));
  return is_staged ? renamed : Status();
}

Status SaveWriter::finish_placing() noexcept {
  Status first_failure;
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    Move& move = moves_[i];
    const auto is_older_of_same = [&](const Move& other) {
      return !other.is_done && other.key == move.key;
    };
    // An older move of the same file comes first, or it would undo this one.
    if (!first_failure &&
        std::any_of(moves_.begin(), moves_.begin() + static_cast<std::ptrdiff_t>(i),
                    is_older_of_same)) {
      continue;
    }
    Status made = or_out_of_memory([&] { return make_move(move); });
    move.is_done = made.has_value();
    if (!made && first_failure) first_failure = std::move(made);
  }
  std::erase_if(moves_, [](const Move& move) { return move.is_done; });
  return first_failure;
}

Result<CompactReport> SaveWriter::compact(const SaveIndex& index) {
  CompactReport report;
  if (catalog_) report.size_before = catalog_->end().offset;
  (void)finish_placing();
  forget_erased(index);
  VARVE_ASSIGN(const std::uint64_t size, CatalogFile::write_new(vfs_, layout_, index, erased_));
  VARVE_TRY(install_new_catalog(size));
  report.size_after = catalog_->end().offset;
  report.size_before = std::max(report.size_before, report.size_after);
  return report;
}

Status SaveWriter::close(const SaveIndex& index) {
  VARVE_TRY(finish_placing());
  // A save nobody changed stays as it is, and so does one whose catalog failed: opening it
  // again mends it.
  if (!catalog_ || catalog_->end().is_closed) return {};
  // For other programs, which know nothing of staged files.
  for (const std::string_view folder : kRecordFolders) {
    VARVE_TRY(vfs_.sync_dir(layout_.in(folder)));
  }
  VARVE_TRY(vfs_.sync_dir(layout_.in("varve/staged")));
  return catalog_->append(closed_record(index, ++last_sequence_));
}

}  // namespace varve::nebula
