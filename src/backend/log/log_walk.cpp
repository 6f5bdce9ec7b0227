#include "backend/log/log_walk.h"

#include <algorithm>

#include "base/try.h"

namespace varve::log {

Result<std::optional<Batch>> LogWalk::next(const Segment& segment, std::uint64_t offset,
                                           std::uint64_t chain) {
  VARVE_ASSIGN(std::optional<Batch> batch,
               read_batch(*segment.file, segment.file_size, offset, segment.salt));
  if (batch && batch->header.chain == chain) return batch;
  if (!over_gaps_) return std::nullopt;
  // Damage, or the end. Only a batch that was written after the missing one was durable tells; one
  // of a tail that was given up does not.
  const std::uint64_t wanted = read_sequence_ + 1;
  for (offset += kBlockSize; offset < segment.file_size;) {
    VARVE_ASSIGN(batch, find_batch(*segment.file, segment.file_size, offset, segment.salt));
    if (!batch) return std::nullopt;
    if (batch->header.sequence > wanted && batch->header.durable_sequence >= wanted) {
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
  for (;;) {
    VARVE_ASSIGN(std::optional<Batch> batch, next(*segment, offset, chain));
    if (!batch) {
      VARVE_ASSIGN(const bool is_torn, has_torn_batch(*segment, offset, chain));
      dropped_tail_ = dropped_tail_ || is_torn;
      return true;
    }
    const BatchHeader& header = batch->header;
    if (sequence_max_ && header.sequence > *sequence_max_) return true;
    if (header.first_sequence > read_sequence_ + 1 && !over_gaps_) return !is_first;
    if (header.again) {
      // Only when it is whole does it take the place of those it holds once more: they may have
      // been promised to somebody. One that is known to be durable was whole, and a value that was
      // damaged since costs itself alone.
      bool is_whole = header.sequence <= durable_;
      if (!is_whole) {
        VARVE_ASSIGN(is_whole, has_all_values(*segment->file, *batch, segment->salt));
      }
      if (!is_whole) {
        dropped_tail_ = true;
        return true;
      }
      while (!unsure_.empty() && unsure_.back().second.header.sequence >= header.first_sequence) {
        unsure_.pop_back();
      }
    } else if (header.sequence <= read_sequence_) {
      return true;  // Left over from before.
    }
    is_first = false;
    offset = batch->end();
    chain = header.checksum;
    read_sequence_ = std::max(read_sequence_, header.sequence);
    durable_ = std::max(durable_, header.durable_sequence);
    unsure_.emplace_back(segment, std::move(*batch));
    while (!unsure_.empty() && unsure_.front().second.header.sequence <= durable_) {
      take(unsure_.front().first, unsure_.front().second);
      unsure_.pop_front();
    }
  }
}

void LogWalk::take(const SegmentRef& segment, const Batch& batch) {
  apply_(segment, batch);
  sequence_ = std::max(sequence_, batch.header.sequence);
  last_segment_ = segment;
  end_ = batch.end();
  chain_ = batch.header.checksum;
  ++batch_count_;
  size_ += batch.end() - batch.offset;
}

Status LogWalk::finish() {
  for (const auto& [segment, batch] : unsure_) {
    if (sequence_max_) break;
    VARVE_ASSIGN(const bool is_whole, has_all_values(*segment->file, batch, segment->salt));
    if (!is_whole) {
      dropped_tail_ = true;
      break;
    }
    // Batches that may be lost lie in one segment: a new one is used only when all before it are
    // durable, and its first batch says so.
    if (unsure_count_++ == 0 || segment != last_segment_) unsure_offset_ = batch.offset;
    take(segment, batch);
  }
  unsure_.clear();
  return {};
}

}  // namespace varve::log
