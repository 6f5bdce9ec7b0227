#include "backend/log/log_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/guarded.h"
#include "base/try.h"

namespace varve::log {

Status LogWriter::check_latch() const {
  if (!is_latched_) return {};
  if (!latch_) return io_error("out of memory");  // There was none for more words, either.
  return io_error(fmt::format("{}: takes no more batches, since {}; close it and open it again",
                              files_.dir(), latch_->message()));
}

Error LogWriter::latch(Error error) {
  // First, since keeping the message may take memory that is not there.
  is_latched_ = true;
  if (!latch_) latch_ = error;
  return error;
}

void LogWriter::publish() noexcept {
  // Not for the batch's sake, which is durable whatever happens here, memory running out included:
  // readers would only learn of it later.
  (void)or_out_of_memory([&] { return control_.publish(control_record()); });
}

ControlRecord LogWriter::control_record() const {
  return {.log_id = files_.log_id(),
          .durable_sequence = durable_sequence_,
          .horizon = horizon_,
          .active_segment_id = active_ != nullptr ? active_->id : 0,
          .active_size = durable_size_,
          .boot_id = files_.vfs().boot_id()};
}

std::uint64_t LogWriter::prepared_size() const {
  std::uint64_t live = 0;
  {
    const std::shared_lock lock(state_.mutex());
    live = state_.live_cost();
  }
  return std::clamp(std::bit_floor(live / 32 + 1), options_.prepared_size_min,
                    options_.prepared_size_max);
}

// --- Where batches go ----------------------------------------------------------------

Result<SegmentRef> LogWriter::take_spare(std::uint64_t size) {
  if (spare_ != nullptr) return std::exchange(spare_, nullptr);
  return files_.create(SegmentKind::log, size);
}

void LogWriter::seal_active() {
  // The zeros behind the last batch are of no use any more, but whoever writes a batch does not
  // wait for them to go.
  if (file_size_ > end_) uncut_.push_back(active_);
  const std::unique_lock lock(state_.mutex());
  active_->file_size = file_size_;
  active_->punched_size = std::min(active_->punched_size, file_size_);
  active_->sealed = true;
}

Status LogWriter::activate(const SegmentRef& next) {
  uncut_.reserve(uncut_.size() + 1);  // Before anything has changed.
  {
    const std::unique_lock lock(state_.mutex());
    VARVE_TRY(state_.add(next));
    next->sealed = false;
  }
  if (active_ != nullptr) seal_active();
  active_ = next;
  end_ = unsure_offset_ = next->used_end;
  file_size_ = durable_size_ = next->file_size;
  chain_ = next->salt;
  return {};
}

Status LogWriter::roll_over(std::uint64_t size) {
  if (unsure_count_ != 0 || has_withdrawn_) VARVE_TRY(sync_active());
  VARVE_ASSIGN(SegmentRef next, take_spare(size));
  const Status activated = activate(next);
  if (!activated) spare_ = std::move(next);
  return activated;
}

Status LogWriter::make_room(std::uint64_t size) {
  if (active_ != nullptr && size <= file_size_ - std::min(end_, file_size_)) return {};
  // A large batch makes its segment larger, which costs no more than any append. A small one
  // goes where space has been written already.
  const std::uint64_t prepared = prepared_size();
  const bool is_full = active_ == nullptr || end_ >= prepared || size > kSegmentSizeMax - end_;
  const bool is_small = size <= prepared / 2;
  // Zeros are for small batches: a large one would only write over them.
  if (is_full || is_small) VARVE_TRY(roll_over(is_small ? prepared : kBlockSize));
  if (size > kSegmentSizeMax - end_) {
    return invalid_argument(fmt::format("a batch of {} bytes is larger than a segment", size));
  }
  return {};
}

// --- Writing -------------------------------------------------------------------------

void LogWriter::fill_encoder(const WriteBatch& batch) {
  encoder_.clear();
  const std::uint64_t sequence = sequence_ + 1;
  const std::vector<WriteBatch::Change>& changes = batch.changes();
  const bool has_erasures =
      std::any_of(changes.begin(), changes.end(), [](const auto& change) { return !change.value; });
  std::set<std::string_view> put_before;
  for (const WriteBatch::Change& change : changes) {
    if (change.value) {
      encoder_.add({change.key, ValuePieces(*change.value), sequence});
      if (has_erasures) put_before.insert(change.key.text());
      continue;
    }
    // An erasure of what is not there would have to be kept for nothing.
    bool is_there = put_before.contains(change.key.text());
    if (!is_there) {
      const std::shared_lock lock(state_.mutex());
      is_there = state_.index().find(change.key).has_value();
    }
    if (is_there) encoder_.add({change.key, std::nullopt, sequence});
  }
}

WriteResult LogWriter::write(const WriteBatch& batch) {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(check_latch());
  VARVE_TRY(settle_held());
  fill_encoder(batch);
  if (encoder_.count() == 0) return WriteResult(sequence_);
  BatchHeader header{.sequence = sequence_ + 1, .first_sequence = sequence_ + 1};
  if (!encoder_.fits(header.sequence)) {
    return invalid_argument(
        fmt::format("a batch of {} records is too many for one; split it", encoder_.count()));
  }
  const std::uint64_t size = encoder_.padded_size(header.sequence);
  VARVE_TRY(make_room(size));
  header.durable_sequence = durable_sequence_;
  header.chain = chain_;
  const std::uint64_t offset = end_;
  const ByteView bytes = encoder_.encode(header, active_->salt, offset);
  if (Status written = active_->file->write_at(offset, bytes); !written) {
    if (Status withdrawn = withdraw(offset); !withdrawn) {
      return {WriteOutcome::uncertain, latch(written.error())};
    }
    return written.error();
  }
  file_size_ = std::max(file_size_, offset + size);
  if (unsure_count_ == 0) {
    unsure_offset_ = offset;
    unsure_since_ = Clock::now();
  }
  ++unsure_count_;
  // Asked once: the clock goes on.
  const bool is_due = sync_is_due();
  if (is_due && !active_->file->sync_data()) {
    const Status again = write_again(&encoder_, header.sequence);
    if (!again) return {WriteOutcome::uncertain, latch(again.error())};
    return WriteResult(header.sequence);
  }
  end_ = offset + size;
  chain_ = header.checksum;
  sequence_ = header.sequence;
  written_.batch_count += 1;
  written_.size += size;
  if (is_due) {
    durable_size_ = file_size_;
    durable_sequence_ = sequence_;
    unsure_count_ = 0;
    has_withdrawn_ = false;
  }
  if (Status applied = apply(encoder_, header, end_); !applied) {
    return {WriteOutcome::uncertain, latch(applied.error())};
  }
  if (unsure_count_ == 0) publish();
  return WriteResult(sequence_);
}

Status LogWriter::withdraw(std::uint64_t offset) {
  has_withdrawn_ = true;
  // Behind the end the file had, all of it goes; otherwise its header does.
  VARVE_ASSIGN(const std::uint64_t size, active_->file->size());
  if (size > file_size_ && active_->file->truncate(file_size_)) return {};
  if (size <= offset) return {};
  static constexpr std::byte zeros[kBlockSize] = {};
  return active_->file->write_at(offset, zeros);
}

Status LogWriter::apply(const BatchEncoder& encoder, const BatchHeader& header, std::uint64_t end) {
  const std::unique_lock lock(state_.mutex());
  // Before anything points there.
  active_->used_end = end;
  active_->file_size = file_size_;
  if (active_->first_sequence == 0) active_->first_sequence = header.first_sequence;
  try {
    for (std::size_t i = 0; i < encoder.count(); ++i) {
      const BatchRecord& record = encoder.record(i);
      if (!record.value) {
        active_->erasure_size += record.key.size() + kErasureSize;
        state_.erase(record.key, header.sequence);
        continue;
      }
      const Location location{
          .slot = active_->slot,
          .offset_unit = static_cast<std::uint32_t>(encoder.offset(i) / Location::kUnit),
          .value_size = static_cast<std::uint32_t>(record.value->size())};
      state_.put(record.key, location, header.sequence);
    }
  } catch (const std::bad_alloc&) {
    // Nothing more may be written, least of all a checkpoint of half a batch.
    is_latched_ = true;
    state_.set_broken();
    return out_of_space("out of memory");
  }
  state_.set_sequence(header.sequence);
  return {};
}

// --- Making durable ------------------------------------------------------------------

bool LogWriter::sync_is_due() const {
  const Durability& durability = options_.user.durability;
  switch (durability.kind) {
    case Durability::Kind::every_commit:
      return true;
    case Durability::Kind::every_n:
      return unsure_count_ >= durability.count;
    case Durability::Kind::every_ms:
      return Clock::now() - unsure_since_ >= std::chrono::milliseconds(durability.interval_ms);
    case Durability::Kind::none:
      return false;
  }
  return true;
}

Status LogWriter::sync_active() {
  if (unsure_count_ == 0 && !has_withdrawn_) return {};
  if (!active_->file->sync_data()) {
    Status again = write_again(nullptr, sequence_);
    if (!again) return latch(again.error());
    return {};
  }
  has_withdrawn_ = false;
  unsure_count_ = 0;
  durable_size_ = file_size_;
  durable_sequence_ = sequence_;
  publish();
  return {};
}

Status LogWriter::sync() {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(check_latch());
  VARVE_TRY(settle_held());
  return sync_active();
}

Status LogWriter::close() {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(check_latch());
  VARVE_TRY(settle_held());
  VARVE_TRY(sync_active());
  ControlRecord record = control_record();
  record.clean = true;
  return control_.publish(record);
}

std::optional<LogWriter::Clock::time_point> LogWriter::sync_deadline() const {
  const Durability& durability = options_.user.durability;
  const std::lock_guard lock(mutex_);
  if (durability.kind != Durability::Kind::every_ms || unsure_count_ == 0 || is_latched_) {
    return std::nullopt;
  }
  return unsure_since_ + std::chrono::milliseconds(durability.interval_ms);
}

}  // namespace varve::log
