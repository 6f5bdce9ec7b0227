// Appends batches to a log and makes them durable.
//
// Invariants:
// 1. A batch begins on a block boundary behind every other batch of its segment.
// 2. A segment is written to only when every batch in the ones before it is durable.
// 3. A batch is shown to readers of this process when it is as durable as was asked for, and
//    published to others when it is durable.
//    What recovery found and may be lost is shown to nobody before it is durable.
// 4. After a failed sync nothing more is written to that file. What it may have lost is written
// again
//    into the next segment; if that fails too, the writer is latched: it may be there or not, and
//    only opening the log again tells.
//
// Thread safety: any thread. One batch at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/log/batch_encoder.h"
#include "backend/log/batch_reader.h"
#include "backend/log/control_file.h"
#include "backend/log/log_options.h"
#include "backend/log/log_recovery.h"
#include "backend/log/log_state.h"
#include "backend/log/segment_files.h"

namespace varve::log {

class LogWriter {
 public:
  LogWriter(const LogOptions& options, SegmentFiles& files, LogState& state, ControlFile control)
      : options_(options), files_(files), state_(state), control_(std::move(control)) {}

  // Goes on where recovery ended. Writes again what may be lost, unless it can be written over
  // itself: that may wait for settle(), since whoever opens a log waits for something else.
  Status start(const Recovered& recovered);

  // Makes durable what start() left. Whoever comes first does it; the others wait for them. Every
  // call below but those about numbers does so before anything else.
  Status settle();
  bool is_settled() const noexcept { return !in_doubt_; }
  // Whether what is there of `key`, or that nothing is, may still be lost. Nobody may be shown it
  // before settle().
  bool may_be_lost(ByteView key) const;

  // The batch has been checked.
  WriteResult write(const WriteBatch& batch);
  Status sync();
  // The last thing: everything durable, and said so.
  Status close();
  std::uint64_t durable_sequence() const noexcept { return durable_sequence_; }

  // --- For upkeep, from one thread.

  // Where the log will go on. Everything before is durable.
  struct Tail {
    std::uint64_t sequence = 0;
    std::uint64_t segment_id = 0;
    std::uint64_t offset = 0;
    std::uint64_t chain = 0;
  };
  // Syncs first.
  Result<Tail> durable_tail();
  // What was written since a checkpoint that ended there.
  struct Written {
    std::uint64_t batch_count = 0;
    std::uint64_t size = 0;
  };
  Written written_since_checkpoint() const;
  void note_checkpoint(const Written& covered);

  // Cuts what was made ready and not used off segments that take no more batches.
  void cut_sealed();

  bool needs_spare() const;
  std::uint64_t prepared_size() const;
  // False if it is of no use any more: a writer that found none has made its own. Segments are
  // used in the order of their numbers, which is that of their batches to whoever opens the log.
  bool set_spare(SegmentRef spare);
  std::uint64_t spare_size() const;
  // Tells readers that what died up to now may be reclaimed.
  Status publish_horizon();
  // When the batches that are not durable yet should be, if there are any and time decides.
  std::optional<std::chrono::steady_clock::time_point> sync_deadline() const;

 private:
  using Clock = std::chrono::steady_clock;

  // All of these expect the mutex to be held.
  Status check_latch() const;
  // Chooses where `size` bytes go. If it fails nothing has changed.
  Status make_room(std::uint64_t size);
  // The segment that is ready, or else a new one with zeros up to `size`.
  Result<SegmentRef> take_spare(std::uint64_t size);
  Status roll_over(std::uint64_t size);
  void seal_active();
  Status activate(const SegmentRef& next);
  // Undoes a write that failed, so that the batch cannot be there after a crash.
  Status withdraw(std::uint64_t offset);
  bool sync_is_due() const;
  Status sync_active();
  // Takes what was dropped behind the last batch off the disk.
  Status cut_tail();
  // Writes what may be lost over itself and makes it durable: the same bytes, whatever of them is
  // on the disk.
  Status write_in_place();
  Status settle_held();
  // Writes what was not durable once more. `current` is the batch that was being written.
  Status write_again(const BatchEncoder* current, std::uint64_t sequence);
  Status collect_unsure(std::vector<Batch>& batches, std::vector<Bytes>& values,
                        BatchEncoder& encoder) const;
  // Makes readers of this process see what was encoded. Latches if memory runs out.
  Status apply(const BatchEncoder& encoder, const BatchHeader& header, std::uint64_t end);
  void fill_encoder(const WriteBatch& batch);
  ControlRecord control_record() const;
  void publish() noexcept;
  Error latch(Error error);

  const LogOptions& options_;
  SegmentFiles& files_;
  LogState& state_;

  mutable std::mutex mutex_;
  ControlFile control_;
  BatchEncoder encoder_;
  SegmentRef active_;
  SegmentRef spare_;
  std::vector<SegmentRef> uncut_;
  // As the file is; the segment's own are what readers see.
  std::uint64_t end_ = 0;
  std::uint64_t file_size_ = 0;
  std::uint64_t durable_size_ = 0;  // of the file, when it was last synced
  std::uint64_t chain_ = 0;
  std::uint64_t sequence_ = 0;
  std::atomic<std::uint64_t> durable_sequence_ = 0;
  std::uint64_t horizon_ = 0;
  // Where the first batch begins that is not durable.
  std::uint64_t unsure_offset_ = 0;
  std::uint64_t unsure_count_ = 0;
  Clock::time_point unsure_since_;
  // What recovery left: everything behind this place of this slot, and erasures if it has any.
  // Set once, before anybody else knows the writer.
  std::uint16_t doubt_slot_ = 0;
  std::uint64_t doubt_offset_ = 0;
  bool doubt_erases_ = false;
  std::atomic<bool> in_doubt_ = false;
  // A write was withdrawn and the zeros in its place are not durable.
  bool has_withdrawn_ = false;
  Written written_;
  bool is_latched_ = false;
  std::optional<Error> latch_;  // why
};

}  // namespace varve::log
