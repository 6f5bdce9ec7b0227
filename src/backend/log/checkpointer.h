// Makes checkpoints of a log while it is written.
//
// A checkpoint is taken in pieces with the log going on between them. It holds every batch up to
// where it began, and of later ones whatever was in the index when their keys came by; reading
// those batches again afterwards makes it whole, since they say where things are, not what to
// change.
//
// One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "backend/log/log_options.h"
#include "backend/log/log_state.h"
#include "backend/log/log_writer.h"
#include "backend/log/segment_files.h"

namespace varve::log {

class Checkpointer {
 public:
  Checkpointer(const LogOptions& options, const SegmentFiles& files, LogState& state,
               LogWriter& writer)
      : options_(options), files_(files), state_(state), writer_(writer) {}

  // With the number of the last one there was, and whether it still is.
  void start(std::uint64_t generation, bool has_checkpoint) {
    durable_generation_ = tried_generation_ = first_generation_ = generation;
    has_checkpoint_ = has_checkpoint;
  }
  // What is done between two pieces of a large one.
  void set_pause(std::function<void()> pause) { pause_ = std::move(pause); }

  bool is_due() const;
  Status write();

  // Of the one that is on the disk.
  std::uint64_t durable_generation() const noexcept { return durable_generation_; }
  bool has_checkpoint() const noexcept { return has_checkpoint_; }
  // Of the one the log was opened with.
  std::uint64_t first_generation() const noexcept { return first_generation_; }
  // Whether that is one of its own: the one the log was opened with may not be durable.
  bool has_written() const noexcept { return has_written_; }
  // From any thread.
  std::uint64_t size() const noexcept { return size_; }

 private:
  // Segments nothing lives in may go once the next checkpoint is durable.
  void stamp_cleared(std::uint64_t generation);
  CheckpointHead head_of(const LogWriter::Tail& tail, std::uint64_t generation) const;

  const LogOptions& options_;
  const SegmentFiles& files_;
  LogState& state_;
  LogWriter& writer_;
  bool has_written_ = false;
  std::uint64_t durable_generation_ = 0;
  // One that failed may be on the disk all the same, and read: its number is not used again.
  std::uint64_t tried_generation_ = 0;
  std::uint64_t first_generation_ = 0;
  bool has_checkpoint_ = false;
  std::atomic<std::uint64_t> size_ = 0;
  std::function<void()> pause_;
};

}  // namespace varve::log
