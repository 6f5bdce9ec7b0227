// Goes through the batches of log segments in their order and tells what can be relied on.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "backend/log/batch_reader.h"
#include "backend/log/segment.h"

namespace varve::log {

class LogWalk {
 public:
  using Apply = std::function<void(const SegmentRef& segment, const Batch& batch)>;

  // Starts behind batch `sequence`. Every batch up to `known_durable` is durable for sure. With
  // `over_gaps`, what is missing is passed over: a log whose dead segments were removed is read
  // from its beginning.
  // If a writer may be at work, `published` is what it has said to be durable: later batches count
  // only when another one says that they are, and no gap is passed over behind it, where batches
  // may come while they are read.
  LogWalk(std::uint64_t sequence, std::uint64_t known_durable,
          std::optional<std::uint64_t> published, bool over_gaps, Apply apply)
      : sequence_(sequence),
        read_sequence_(sequence),
        durable_(known_durable),
        published_(published),
        over_gaps_(over_gaps),
        apply_(std::move(apply)) {}

  // Takes in the batches of `segment` from `offset` on, the first of which is chained to `chain`.
  // False if it does not go on where the one before ended, which is damage.
  Result<bool> segment(const SegmentRef& segment, std::uint64_t offset, std::uint64_t chain);

  // After the last segment. If no writer may be at work, batches that are whole but not known to be
  // durable are taken in too.
  Status finish();

  std::uint64_t sequence() const noexcept { return sequence_; }
  std::uint64_t durable_sequence() const noexcept { return std::min(durable_, sequence_); }
  std::uint64_t known_durable() const noexcept { return durable_; }
  bool dropped_tail() const noexcept { return dropped_tail_; }
  // Behind the segment with the last batch there is one with batches that were dropped. The next
  // batch must lie behind them, in another segment, so that it can be told which ones count.
  bool dropped_behind() const noexcept { return last_seen_ != last_segment_; }
  std::uint64_t batch_count() const noexcept { return batch_count_; }
  std::uint64_t size() const noexcept { return size_; }

  // The segment with the last batch that was taken in; null if there was none.
  const SegmentRef& last_segment() const noexcept { return last_segment_; }
  std::uint64_t end() const noexcept { return end_; }
  std::uint64_t chain() const noexcept { return chain_; }
  // Of the batches that were taken in without being known to be durable.
  std::uint64_t unsure_count() const noexcept { return unsure_count_; }
  std::uint64_t unsure_offset() const noexcept { return unsure_offset_; }
  bool unsure_erases() const noexcept { return unsure_erases_; }
  // Batches that were durable and are damaged were passed over.
  std::uint64_t gap_count() const noexcept { return gap_count_; }

 private:
  bool passes_over_gap(const BatchHeader& behind) const {
    return over_gaps_ && (!published_ || behind.sequence <= *published_);
  }
  Result<std::optional<Batch>> next(const Segment& segment, std::uint64_t offset,
                                    std::uint64_t chain, bool is_first, FindBudget& budget);
  // Whether what stands there began as the next batch.
  Result<bool> has_torn_batch(const Segment& segment, std::uint64_t offset,
                              std::uint64_t chain) const;
  void take_first();
  // Batches from this one on do not count: they were given up, or are held once more by another.
  void replace(std::uint64_t first_sequence);
  // A later batch was found, before which everything up to `durable_sequence` was durable.
  void settle_doubtful(std::uint64_t durable_sequence);

  std::uint64_t sequence_;       // of the last one taken in
  std::uint64_t read_sequence_;  // of the last one read
  std::uint64_t durable_;
  const std::optional<std::uint64_t> published_;
  const bool over_gaps_;
  Apply apply_;
  // Read, but not known to be durable; a later one may say that they are.
  std::deque<std::pair<SegmentRef, Batch>> unsure_;
  // One that was written again, is not whole, and is not known to be durable yet.
  std::optional<std::pair<SegmentRef, Batch>> doubtful_;
  SegmentRef first_segment_;
  SegmentRef last_seen_;  // with any batch at all
  SegmentRef last_segment_;
  std::uint64_t end_ = 0;
  std::uint64_t chain_ = 0;
  std::uint64_t unsure_count_ = 0;
  std::uint64_t unsure_offset_ = 0;
  bool unsure_erases_ = false;
  std::uint64_t batch_count_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t gap_count_ = 0;
  bool dropped_tail_ = false;
};

}  // namespace varve::log
