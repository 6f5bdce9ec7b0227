#include "backend/log/log_walk.h"

#include <algorithm>

#include "base/try.h"

namespace varve::log {

Result<std::optional<Batch>> LogWalk::next(const Segment& segment, std::uint64_t offset,
                                           std::uint64_t chain, bool is_first, FindBudget& budget) {
  VARVE_ASSIGN(std::optional<Batch> batch,
               read_batch(*segment.file, segment.file_size, offset, segment.salt));
  if (batch && batch->header.chain == chain) return batch;
  if (!over_gaps_) return std::nullopt;
  // Damage, or the end. Only a batch that was written after the missing one was durable tells; one
  // of a tail that was given up does not.
  const std::uint64_t wanted = read_sequence_ + 1;
  for (offset += kBlockSize; offset < segment.file_size;) {
    VARVE_ASSIGN(batch, find_batch(*segment.file, segment.file_size, offset, segment.salt, budget));
    // What was passed over for its cost is said to be missing.
    if (!batch && budget.is_spent()) ++gap_count_;
    if (!batch) return std::nullopt;
    // Which number the first one of a segment had cannot be told: those before it may be gone.
    const std::uint64_t missing = is_first ? batch->header.first_sequence - 1 : wanted;
    if (batch->header.sequence > wanted && batch->header.durable_sequence >= missing) {
      // What is missing was being written when it was looked for.
      if (!passes_over_gap(batch->header)) return std::nullopt;
      ++gap_count_;
      return batch;
    }
    offset = batch->offset + kBlockSize;
  }
  return std::nullopt;
}

Result<bool> LogWalk::has_torn_batch(const Segment& segment, std::uint64_t offset,
                                     std::uint64_t chain) const {
  std::byte bytes[kBatchHeaderSize];
  VARVE_ASSIGN(const std::size_t got, segment.file->read_at(offset, bytes));
  // However large it was to be: the file may not have grown to its end.
  const auto header = decode_batch_header({bytes, got}, ~std::uint64_t{0});
  return header && header->chain == chain && header->sequence == read_sequence_ + 1;
}

Result<bool> LogWalk::segment(const SegmentRef& segment, std::uint64_t offset,
                              std::uint64_t chain) {
  bool is_first = true;
  FindBudget budget(segment->file_size);
  for (;;) {
    VARVE_ASSIGN(std::optional<Batch> batch, next(*segment, offset, chain, is_first, budget));
    if (!batch) {
      VARVE_ASSIGN(const bool is_torn, has_torn_batch(*segment, offset, chain));
      dropped_tail_ = dropped_tail_ || is_torn;
      return true;
    }
    const BatchHeader& header = batch->header;
    if (doubtful_) settle_doubtful(header.durable_sequence);
    // A segment is written to when everything before it is durable. What is beyond that in earlier
    // ones was given up.
    if (is_first && segment != first_segment_ && !header.again) {
      replace(header.durable_sequence + 1);
    }
    if (first_segment_ == nullptr) first_segment_ = segment;
    last_seen_ = segment;
    if (header.first_sequence > read_sequence_ + 1 && !passes_over_gap(header)) return !is_first;
    if (header.again) {
      // Only when it is whole does it take the place of those it holds once more: they may have
      // been promised to somebody. If it is not, a later batch may still say that it was durable:
      // then values have died in it since and were given back.
      VARVE_ASSIGN(const bool is_whole, has_all_values(*segment->file, *batch, segment->salt));
      if (!is_whole) {
        offset = batch->end();
        chain = header.checksum;
        doubtful_.emplace(segment, std::move(*batch));
        continue;
      }
      replace(header.first_sequence);
    } else if (header.sequence <= read_sequence_) {
      return true;  // Left over from before.
    }
    is_first = false;
    offset = batch->end();
    chain = header.checksum;
    read_sequence_ = std::max(read_sequence_, header.sequence);
    const std::uint64_t durable = header.durable_sequence;
    unsure_.emplace_back(segment, std::move(*batch));
    durable_ = std::max(durable_, durable);
    // Only a later batch settles that. What was published may be about one that comes behind others
    // of its number, which were given up.
    while (!unsure_.empty() && unsure_.front().second.header.sequence <= durable) take_first();
  }
}

void LogWalk::replace(std::uint64_t first_sequence) {
  while (!unsure_.empty() && unsure_.back().second.header.sequence >= first_sequence) {
    unsure_.pop_back();
    read_sequence_ = unsure_.empty() ? sequence_ : unsure_.back().second.header.sequence;
  }
}

void LogWalk::settle_doubtful(std::uint64_t durable_sequence) {
  const BatchHeader header = doubtful_->second.header;
  if (durable_sequence >= header.sequence) {
    replace(header.first_sequence);
    read_sequence_ = std::max(read_sequence_, header.sequence);
    unsure_.push_back(*std::move(doubtful_));
  }
  doubtful_.reset();
}

void LogWalk::take_first() {
  const auto& [segment, batch] = unsure_.front();
  apply_(segment, batch);
  sequence_ = std::max(sequence_, batch.header.sequence);
  last_segment_ = segment;
  end_ = batch.end();
  chain_ = batch.header.checksum;
  ++batch_count_;
  size_ += batch.end() - batch.offset;
  unsure_.pop_front();
}

Status LogWalk::finish() {
  dropped_tail_ = dropped_tail_ || doubtful_.has_value();
  while (!unsure_.empty()) {
    const auto& [segment, batch] = unsure_.front();
    if (batch.header.sequence > durable_) {
      if (published_) break;
      VARVE_ASSIGN(const bool is_whole, has_all_values(*segment->file, batch, segment->salt));
      if (!is_whole) {
        dropped_tail_ = true;
        break;
      }
      // Batches that may be lost lie in one segment: a new one is used only when all before it are
      // durable, and its first batch says so.
      if (unsure_count_++ == 0 || segment != last_segment_) unsure_offset_ = batch.offset;
      unsure_erases_ = unsure_erases_ || batch.erases();
    }
    take_first();
  }
  unsure_.clear();
  return {};
}

}  // namespace varve::log
