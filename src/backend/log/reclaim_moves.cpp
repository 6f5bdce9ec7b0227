// The part of the Reclaimer that clears segments: what still lives in one is copied to a segment of
// moved records, and the index is told when the copy is durable. A crash before the next checkpoint
// forgets the copies; the originals are there until then.
#include <algorithm>
#include <limits>
#include <mutex>

#include "backend/log/reclaimer.h"
#include "base/try.h"

namespace varve::log {
namespace {

// A segment of moved records is not gone on with beyond this: it is then cleared in its turn
// without copying too much at once.
constexpr std::uint64_t kMovedPerPreparedSize = 8;

}  // namespace

bool Reclaimer::is_oldest(const Segment& segment) const {
  return segment.first_sequence < oldest_beside(segment);
}

std::uint64_t Reclaimer::oldest_beside(const Segment& segment) const {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  state_.for_each_segment([&](const SegmentRef& other) {
    if (other.get() == &segment || other->first_sequence == 0) return;
    oldest = std::min(oldest, other->first_sequence);
  });
  return oldest;
}

SegmentRef Reclaimer::choose_victim(const Pins& pins) const {
  const Sizes now = sizes();
  // Erasures go when everything older is gone. If they have become much, the oldest segment is
  // cleared, whatever lives in it.
  const bool wants_oldest = now.erasures > now.live / 8 + options_.reclaim_size_min;
  SegmentRef best;
  double best_gain = 0;
  const std::uint64_t durable = writer_.durable_sequence();
  const std::shared_lock lock(state_.mutex());
  state_.for_each_segment([&](const SegmentRef& segment) {
    if (!segment->sealed || segment->damaged || segment->cleared || segment->file == nullptr ||
        segment == moved_ || !state_.is_followed(*segment, durable)) {
      return;
    }
    // While a reader may look into it, a copy would only be one more.
    if (std::any_of(pins.readers.begin(), pins.readers.end(),
                    [&](const PinRecord& pin) { return may_know(pin, *segment); })) {
      return;
    }
    if (wants_oldest) {
      if (best == nullptr || segment->first_sequence < best->first_sequence) best = segment;
      return;
    }
    const std::uint64_t erasures = is_oldest(*segment) ? 0 : segment->erasure_size;
    const std::uint64_t kept = segment->live_size + erasures;
    const std::uint64_t allocated = segment->allocated_size();
    if (kept >= allocated - allocated / 8) return;  // Copying it would gain next to nothing.
    const double gain =
        static_cast<double>(allocated - kept) / static_cast<double>(kept + kBlockSize);
    if (gain > best_gain) {
      best = segment;
      best_gain = gain;
    }
  });
  return best;
}

void Reclaimer::give_up_victim() {
  const std::unique_lock lock(state_.mutex());
  victim_->damaged = true;
  victim_ = nullptr;
}

void Reclaimer::rewind_victim() {
  victim_offset_ = kBlockSize;
  victim_chain_ = victim_->salt;
  victim_batch_.reset();
  victim_entry_ = 0;
}

Result<bool> Reclaimer::move_records(const Pins& pins) {
  if (victim_ == nullptr) {
    victim_ = choose_victim(pins);
    if (victim_ == nullptr) return false;
    rewind_victim();
  }
  if (is_halfway_) rewind_victim();
  is_halfway_ = true;
  {
    // What is gathered was alive then, so that whoever erases it comes later.
    const std::shared_lock lock(state_.mutex());
    gathered_as_of_ = std::min(writer_.durable_sequence(), state_.current_sequence());
  }
  gathered_values_.clear();
  gathered_keys_.clear();
  gathered_places_.clear();
  BatchEncoder encoder;
  const auto is_through = gather(encoder);
  if (!is_through && is_through.error().code() != ErrorCode::out_of_space) {
    // One value that is damaged or cannot be read keeps its segment: it is reported to whoever
    // reads it, and its bytes stay. The others go on.
    give_up_victim();
    is_halfway_ = false;
    return true;
  }
  if (!is_through) return is_through.error();
  if (encoder.count() != 0) VARVE_TRY(flush(encoder));
  is_halfway_ = false;
  if (*is_through) {
    const std::unique_lock lock(state_.mutex());
    victim_->cleared = victim_->live_count == 0;
    // Something lives in it that its directory does not show.
    if (!victim_->cleared) victim_->damaged = true;
    victim_ = nullptr;
  }
  return true;
}

Result<bool> Reclaimer::gather(BatchEncoder& encoder) {
  std::uint64_t used_end = 0;
  std::uint64_t oldest_other = 0;
  {
    const std::shared_lock lock(state_.mutex());
    used_end = victim_->used_end;
    oldest_other = doomed_.empty() ? oldest_beside(*victim_) : 0;
  }
  while (victim_offset_ < used_end) {
    if (!victim_batch_) {
      VARVE_ASSIGN(victim_batch_,
                   read_batch(*victim_->file, used_end, victim_offset_, victim_->salt));
      if (!victim_batch_ || victim_batch_->header.chain != victim_chain_) {
        return corruption(victim_->file->path() + ": a batch cannot be read");
      }
      victim_entry_ = 0;
    }
    const Batch& batch = *victim_batch_;
    gathered_keys_.push_back(batch.head);
    for (; victim_entry_ < batch.entries.size(); ++victim_entry_) {
      if (copied_size_ >= options_.reclaim_step_size) return false;
      const DirectoryEntry& entry = batch.entries[victim_entry_];
      std::optional<Location> place;
      {
        const std::shared_lock lock(state_.mutex());
        place = state_.index().find(entry.key);
      }
      if (entry.erases) {
        // What it erased was written before it, or carried over before it.
        if (place || entry.version <= oldest_other) continue;
        encoder.add({entry.key, std::nullopt, entry.version});
        gathered_places_.push_back({});
        copied_size_ += entry.key.size();
        continue;
      }
      if (!place || place->slot != victim_->slot || place->offset() != entry.offset) continue;
      VARVE_ASSIGN(Bytes value, read_value(*victim_->file, entry.key, entry.offset,
                                           entry.value_size, victim_->salt));
      gathered_values_.push_back(std::move(value));
      gathered_places_.push_back(*place);
      encoder.add({entry.key, gathered_values_.back().view(), entry.version});
      copied_size_ += entry.key.size() + entry.value_size;
    }
    victim_offset_ = batch.end();
    victim_chain_ = batch.header.checksum;
    victim_batch_.reset();
  }
  return true;
}

Status Reclaimer::make_moved_segment() {
  const std::uint64_t size_max = kMovedPerPreparedSize * writer_.prepared_size();
  if (moved_ != nullptr && moved_->used_end < size_max) return {};
  if (moved_ != nullptr) {
    const std::unique_lock lock(state_.mutex());
    moved_->sealed = true;
    moved_ = nullptr;
  }
  VARVE_ASSIGN(SegmentRef next, files_.create(SegmentKind::moved, kBlockSize));
  const std::unique_lock lock(state_.mutex());
  VARVE_TRY(state_.add(next));
  moved_ = std::move(next);
  moved_chain_ = moved_->salt;
  return {};
}

Status Reclaimer::flush(BatchEncoder& encoder) {
  VARVE_TRY(make_moved_segment());
  const std::uint64_t as_of = gathered_as_of_;
  BatchHeader header{
      .sequence = as_of, .first_sequence = as_of, .durable_sequence = as_of, .chain = moved_chain_};
  const std::uint64_t offset = moved_->used_end;
  const ByteView bytes = encoder.encode(header, moved_->salt, offset);
  Status written = moved_->file->write_at(offset, bytes);
  if (written) written = moved_->file->sync_data();
  if (!written) {
    // Nothing refers to what was written, but it may be found there. The next try goes into another
    // file.
    const std::unique_lock lock(state_.mutex());
    if (moved_->first_sequence == 0) moved_->first_sequence = as_of;
    moved_->sealed = true;
    moved_ = nullptr;
    return written;
  }
  moved_chain_ = header.checksum;
  const std::unique_lock lock(state_.mutex());
  moved_->used_end = offset + bytes.size();
  moved_->file_size = std::max(moved_->file_size, moved_->used_end);
  if (moved_->first_sequence == 0) moved_->first_sequence = as_of;
  for (std::size_t i = 0; i < encoder.count(); ++i) {
    const BatchRecord& record = encoder.record(i);
    if (!record.value) {
      moved_->erasure_size += record.key.size() + kErasureSize;
      continue;
    }
    state_.move(record.key, gathered_places_[i],
                {.slot = moved_->slot,
                 .offset_unit = static_cast<std::uint32_t>(encoder.offset(i) / Location::kUnit),
                 .value_size = static_cast<std::uint32_t>(record.value->size())});
  }
  victim_->moved_from = true;
  victim_->last_death = std::max(victim_->last_death, state_.current_sequence());
  return {};
}

}  // namespace varve::log
