// The half of LogWriter that is not about ordinary batches: starting, writing again what a failed
// sync or a crash may have taken, and what upkeep needs to know.
#include <algorithm>
#include <mutex>

#include "backend/log/log_writer.h"
#include "base/try.h"

namespace varve::log {
namespace {

constexpr std::uint64_t kRewriteSize = std::uint64_t{1} << 20;

}  // namespace

Status LogWriter::start(const Recovered& recovered) {
  const std::lock_guard lock(mutex_);
  sequence_ = recovered.sequence;
  durable_sequence_ = recovered.durable_sequence;
  horizon_ = recovered.durable_sequence;
  written_ = {.batch_count = recovered.tail_batch_count, .size = recovered.tail_size};
  active_ = recovered.active;
  if (active_ != nullptr) {
    end_ = unsure_offset_ = active_->used_end;
    file_size_ = active_->file_size;
    durable_size_ = recovered.active_durable_size;
    chain_ = recovered.chain;
  }
  if (recovered.dropped_in_active && !recovered.active_is_damaged) VARVE_TRY(cut_tail());
  if (recovered.unsure_count != 0) {
    unsure_offset_ = recovered.unsure_offset;
    unsure_count_ = recovered.unsure_count;
    // The file may be one whose sync failed: its pages can be read, and a sync of them would
    // say that all is well, and still they are not on the disk.
    if (recovered.unsure_in_place) {
      doubt_slot_ = active_->slot;
      doubt_offset_ = unsure_offset_;
      doubt_erases_ = recovered.unsure_erases;
      in_doubt_ = true;
      // Before anything else is written.
      if (recovered.needs_new_segment) VARVE_TRY(settle_held());
    } else {
      VARVE_TRY(write_again(nullptr, sequence_));
    }
  }
  const bool is_same = active_ == recovered.active;
  if (active_ == nullptr ||
      (is_same && (recovered.active_is_damaged || recovered.needs_new_segment))) {
    // Nothing is cut off behind damage: somebody may want to look at it.
    if (recovered.active_is_damaged) file_size_ = end_;
    // Without zeros: somebody waits for the log to open.
    VARVE_TRY(roll_over(kBlockSize));
  }
  // Readers that find nothing published since the machine started take all they can read for what
  // the disk has, so that nothing may be in flight before this is there. What was written again
  // above is on the disk in its first copy.
  VARVE_TRY(control_.publish(control_record()));
  // What was published before may say more than is left of a damaged log.
  if (recovered.active_is_damaged) return control_.sync();
  return {};
}

Status LogWriter::settle() {
  if (!in_doubt_) return {};
  const std::lock_guard lock(mutex_);
  return settle_held();
}

Status LogWriter::settle_held() {
  if (!in_doubt_) return {};
  // Tried once: a file whose sync failed is not to be believed.
  VARVE_TRY(check_latch());
  if (Status written = write_in_place(); !written) return latch(written.error());
  in_doubt_ = false;
  publish();
  return {};
}

bool LogWriter::may_be_lost(ByteView key) const {
  if (!in_doubt_) return false;
  const std::shared_lock lock(state_.mutex());
  const std::optional<Location> location = state_.index().find(key);
  if (!location) return doubt_erases_;
  return location->slot == doubt_slot_ && location->offset() >= doubt_offset_;
}

Status LogWriter::cut_tail() {
  // What was dropped is known to be so by the batch that comes next elsewhere, which may be gone
  // one day while this segment is still there: without a checkpoint it would be taken for durable
  // then.
  VARVE_TRY(active_->file->truncate(end_));
  VARVE_TRY(active_->file->sync_data());
  file_size_ = end_;
  return {};
}

Status LogWriter::write_in_place() {
  Buffer piece(static_cast<std::size_t>(std::min(kRewriteSize, end_ - unsure_offset_)));
  for (std::uint64_t offset = unsure_offset_; offset < end_; offset += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kRewriteSize, end_ - offset)));
    VARVE_TRY(active_->file->read_exactly(offset, piece.span()));
    VARVE_TRY(active_->file->write_at(offset, piece.view()));
  }
  VARVE_TRY(active_->file->sync_data());
  unsure_count_ = 0;
  durable_size_ = file_size_;
  durable_sequence_ = sequence_;
  return {};
}

Status LogWriter::collect_unsure(std::vector<Batch>& batches, std::vector<Bytes>& values,
                                 BatchEncoder& encoder) const {
  for (std::uint64_t offset = unsure_offset_; offset < end_;) {
    VARVE_ASSIGN(auto batch, read_batch(*active_->file, file_size_, offset, active_->salt));
    if (!batch) return corruption(active_->file->path() + ": a batch cannot be read back");
    offset = batch->end();
    batches.push_back(*std::move(batch));
  }
  for (const Batch& batch : batches) {
    for (const DirectoryEntry& entry : batch.entries) {
      if (entry.erases) {
        encoder.add({entry.key, std::nullopt, entry.version});
        continue;
      }
      VARVE_ASSIGN(Bytes value, read_value(*active_->file, entry.key, entry.offset,
                                           entry.value_size, active_->salt));
      values.push_back(std::move(value));
      encoder.add({entry.key, values.back().view(), entry.version});
    }
  }
  return {};
}

Status LogWriter::write_again(const BatchEncoder* current, std::uint64_t sequence) {
  std::vector<Batch> batches;
  std::vector<Bytes> values;
  BatchEncoder again;
  VARVE_TRY(collect_unsure(batches, values, again));
  if (current != nullptr) {
    for (std::size_t i = 0; i < current->count(); ++i) again.add(current->record(i));
  }
  // The old segment stays as it is, with its last batches twice: they are the same.
  // Without zeros, if none is ready: somebody waits, and the next batches get another one.
  VARVE_ASSIGN(const SegmentRef next, take_spare(kBlockSize));
  BatchHeader header{.sequence = sequence,
                     .first_sequence = durable_sequence_ + 1,
                     .durable_sequence = durable_sequence_,
                     .chain = next->salt,
                     .again = true};
  // Encoded first: if memory runs out here, nothing has changed.
  const ByteView bytes = again.encode(header, next->salt, next->used_end);
  const SegmentRef before = active_;
  const std::uint64_t durable_end = unsure_count_ != 0 ? unsure_offset_ : end_;
  VARVE_TRY(activate(next));
  {
    const std::unique_lock lock(state_.mutex());
    before->durable_end_max = durable_end;
  }
  VARVE_TRY(active_->file->write_at(end_, bytes));
  file_size_ = std::max(file_size_, end_ + bytes.size());
  VARVE_TRY(active_->file->sync_data());
  durable_size_ = file_size_;
  end_ += bytes.size();
  chain_ = header.checksum;
  sequence_ = sequence;
  durable_sequence_ = sequence;
  unsure_count_ = 0;
  has_withdrawn_ = false;
  written_.batch_count += 1;
  written_.size += bytes.size();
  VARVE_TRY(apply(again, header, end_));
  publish();
  return {};
}

void LogWriter::cut_sealed() {
  std::vector<SegmentRef> uncut;
  {
    const std::lock_guard lock(mutex_);
    uncut.swap(uncut_);
  }
  for (const SegmentRef& segment : uncut) {
    std::uint64_t end = 0;
    {
      const std::shared_lock lock(state_.mutex());
      end = segment->used_end;
    }
    // If that fails the zeros stay.
    if (!segment->file->truncate(end)) continue;
    const std::unique_lock lock(state_.mutex());
    segment->file_size = end;
    segment->punched_size = std::min(segment->punched_size, end);
  }
}

Result<LogWriter::Tail> LogWriter::durable_tail() {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(check_latch());
  VARVE_TRY(settle_held());
  VARVE_TRY(sync_active());
  return Tail{.sequence = sequence_, .segment_id = active_->id, .offset = end_, .chain = chain_};
}

LogWriter::Written LogWriter::written_since_checkpoint() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

void LogWriter::note_checkpoint(const Written& covered) {
  const std::lock_guard lock(mutex_);
  written_.batch_count -= covered.batch_count;
  written_.size -= covered.size;
}

bool LogWriter::needs_spare() const {
  const std::lock_guard lock(mutex_);
  return spare_ == nullptr && !is_latched_;
}

bool LogWriter::set_spare(SegmentRef spare) {
  const std::lock_guard lock(mutex_);
  const bool is_overtaken = active_ != nullptr && spare->id < active_->id;
  if (spare_ != nullptr || is_overtaken) return false;
  spare_ = std::move(spare);
  return true;
}

std::uint64_t LogWriter::spare_size() const {
  const std::lock_guard lock(mutex_);
  return spare_ != nullptr ? spare_->file_size : 0;
}

Status LogWriter::publish_horizon() {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(settle_held());
  horizon_ = durable_sequence_;
  return control_.publish(control_record());
}

}  // namespace varve::log
