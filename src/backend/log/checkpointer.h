// Makes checkpoints of a log while it is written.
//
// A checkpoint is taken in pieces with the log going on between them. It holds every batch up to
// where it began, and of later ones whatever was in the index when their keys came by; reading
// those batches again afterwards makes it whole, since they say where things are, not what to
// change.
//
// One thread at a time.
#pragma once

#include <cstdint>

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

  // The one the log was opened with; 0 if there was none.
  void start(std::uint64_t generation) { durable_generation_ = tried_generation_ = generation; }

  bool is_due() const;
  Status write();

  // Of the one that is on the disk.
  std::uint64_t durable_generation() const noexcept { return durable_generation_; }
  // Whether that is one of its own: the one the log was opened with may not be durable.
  bool has_written() const noexcept { return has_written_; }
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
  std::uint64_t size_ = 0;
};

}  // namespace varve::log
