#include "store/nebula/save_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/save_files.h"
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
  if (catalog_ && !catalog_->is_bloated()) return {};
  catalog_.reset();
  VARVE_ASSIGN(catalog_, CatalogFile::rewrite(vfs_, layout_, index));
  // Commits in doubt were in the catalog that is no more.
  for (const StagedFiles& staged : in_doubt_) discard(staged);
  in_doubt_.clear();
  return {};
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
  StagedFiles staged{.changes = std::move(changes), .sequence = sequence};
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

void SaveWriter::discard(const StagedFiles& staged) {
  // One that stays is removed when the save is opened again.
  for (const IndexChange& change : staged.changes) {
    if (change.entry) (void)vfs_.remove(layout_.staged(change.entry->id));
  }
}

Status SaveWriter::append(const CatalogRecord& record, const StagedFiles& staged,
                          const SaveIndex& before) {
  // All memory first: once the record is durable nothing may fail.
  std::vector<Move> moves;
  moves.reserve(staged.changes.size());
  for (const IndexChange& change : staged.changes) {
    const FileEntry* old = before.find(change.key);
    moves.push_back({.key = change.key,
                     .entry = change.entry,
                     .replaced = old != nullptr ? std::optional(*old) : std::nullopt});
  }
  moves_.reserve(moves_.size() + moves.size());
  in_doubt_.push_back(staged);
  Status appended = or_out_of_memory([&] { return catalog_->append(record); });
  if (!appended) {
    catalog_.reset();
    return appended;
  }
  in_doubt_.pop_back();
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
  catalog_.reset();
  VARVE_TRY(prepare(index));
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
  for (const std::string_view folder : {"chunks", "players", "globals", "varve/staged", ""}) {
    VARVE_TRY(vfs_.sync_dir(layout_.in(folder)));
  }
  const CatalogRecord closed{.kind = CatalogRecordKind::closed,
                             .sequence = ++last_sequence_,
                             .generation = index.generation,
                             .tick = index.tick,
                             .generator = index.generator};
  return catalog_->append(closed);
}

}  // namespace varve::nebula
