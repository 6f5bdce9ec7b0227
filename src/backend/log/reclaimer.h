// Gives back the space of what was overwritten and erased, while the log is in use.
//
// Invariants:
// 1. Nothing is reclaimed that a crash, a snapshot or a reader in another process could still need:
// it
//    died in a batch that is durable, and before everything that anybody holds.
// 2. A segment goes only when nothing lives in it and a checkpoint that began afterwards is
// durable.
// 3. A segment somebody reads from is neither punched nor recycled, only unlinked.
// 4. An erasure is dropped only when no segment is left that could hold what it erased.
//
// One thread at a time, the same as the Checkpointer's.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/log/batch_encoder.h"
#include "backend/log/batch_reader.h"
#include "backend/log/checkpointer.h"
#include "backend/log/log_options.h"
#include "backend/log/log_state.h"
#include "backend/log/log_writer.h"
#include "backend/log/segment_files.h"

namespace varve::log {

class Reclaimer {
 public:
  Reclaimer(const LogOptions& options, SegmentFiles& files, LogState& state, LogWriter& writer,
            Checkpointer& checkpointer)
      : options_(options),
        files_(files),
        state_(state),
        writer_(writer),
        checkpointer_(checkpointer) {}

  // Takes over what recovery found no use for.
  void start(const Recovered& recovered);

  // Does the next thing that helps, if the files are larger than they should be by `percent_max`
  // hundredths of what lives in them. False if there was nothing to do.
  Result<bool> step(std::uint64_t percent_max);
  // What the last step copied.
  std::uint64_t copied_size() const noexcept { return copied_size_; }

  // The next segment to be used, if there is none: of one that went, or a new one.
  Status prepare_spare();

  // Whether all files of the log, without `new_size` bytes of them, occupy more than they should.
  bool is_over(std::uint64_t percent_max, std::uint64_t new_size) const;

 private:
  // What somebody may still look at.
  struct Pins {
    std::vector<std::uint64_t> snapshots;  // of this process
    std::vector<PinRecord> readers;        // of others
  };
  Result<Pins> pins() const;
  // Whether something in `segment` that is dead now and was written in batch `version` may be seen
  // by one of them.
  bool is_needed(const Pins& pins, const Segment& segment, std::uint64_t version) const;
  bool may_go(const Pins& pins, const Segment& segment) const;
  // Whether a reader that started from an older checkpoint may look into it.
  static bool may_know(const PinRecord& pin, const Segment& segment);

  struct Sizes {
    std::uint64_t allocated = 0;
    std::uint64_t cleared = 0;  // of that, what goes with the next checkpoint
    std::uint64_t live = 0;
    std::uint64_t erasures = 0;
  };
  Sizes sizes() const;
  bool exceeds(const Sizes& sizes, std::uint64_t allocated, std::uint64_t percent_max) const;

  // Holes that came since the checkpoint the log was opened with are told by the disk.
  void measure_holes();
  Status give(SegmentRef spare);
  // Takes the names of segments nothing refers to.
  Status remove_doomed();
  // Segments that may go do.
  Result<bool> free_segments(const Pins& pins);
  // reclaim_holes.cpp
  struct DeadValue {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t version = 0;
  };
  Result<bool> punch_holes();
  SegmentRef choose_for_holes() const;
  std::vector<DeadValue> find_dead(Segment& segment) const;
  // reclaim_moves.cpp
  Result<bool> move_records(const Pins& pins);
  SegmentRef choose_victim(const Pins& pins) const;
  Result<bool> gather(BatchEncoder& encoder);
  // The first batch of the oldest of all other segments.
  std::uint64_t oldest_beside(const Segment& segment) const;
  bool is_oldest(const Segment& segment) const;
  Status flush(BatchEncoder& encoder);
  Status make_moved_segment();
  void rewind_victim();
  void give_up_victim();

  const LogOptions& options_;
  SegmentFiles& files_;
  LogState& state_;
  LogWriter& writer_;
  Checkpointer& checkpointer_;
  bool can_punch_ = true;
  bool has_measured_ = false;
  std::atomic<std::uint64_t> copied_size_ = 0;

  // The segment that is being cleared, and how far that has come.
  SegmentRef victim_;
  std::uint64_t victim_offset_ = 0;
  std::uint64_t victim_chain_ = 0;
  std::optional<Batch> victim_batch_;
  std::size_t victim_entry_ = 0;
  // A step began and did not end: what it gathered did not get where it should.
  bool is_halfway_ = false;
  // What was gathered from it: after which batch, values, and where they lie.
  std::uint64_t gathered_as_of_ = 0;
  std::vector<Bytes> gathered_values_;
  std::vector<Bytes> gathered_keys_;
  std::vector<Location> gathered_places_;
  // Where they go.
  SegmentRef moved_;
  std::uint64_t moved_chain_ = 0;
  // A segment that went and may be used again.
  SegmentRef recyclable_;
  // Segments nothing refers to, but whose names may still be there, now or after a crash.
  std::vector<std::uint64_t> doomed_;
};

}  // namespace varve::log
