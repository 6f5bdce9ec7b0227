// One recovery of a log at work: log_recovery.cpp finds where it begins, recovery_tail.cpp goes
// through the batches that come from there.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/log/checkpoint.h"
#include "backend/log/control_file.h"
#include "backend/log/log_recovery.h"
#include "backend/log/log_walk.h"
#include "base/try.h"

namespace varve::log {

// The directory's share of an erasure.
inline std::uint64_t erasure_cost(const DirectoryEntry& entry) {
  return entry.key.size() + kErasureSize;
}

// False for a copy that was being carried over when the power went, or an original that was given
// back.
inline bool is_whole(const Segment& segment, const DirectoryEntry& entry) {
  return has_value(*segment.file, entry, segment.salt).value_or(false);
}

class Recovery {
 public:
  Recovery(const SegmentFiles& files, LogState& state, const RecoveryOptions& options)
      : files_(files), state_(state), options_(options) {}

  Result<std::optional<Recovered>> run();

 private:
  void problem(Error error) { out_.report.problems.push_back(std::move(error)); }
  // One that takes entries away without a trace.
  void lost(Error error) {
    if (!out_.report.loss) out_.report.loss = error;
    out_.lost_now = true;
    problem(std::move(error));
  }
  OpenMode mode() const { return options_.writes ? OpenMode::write : OpenMode::read; }

  Status read_control() {
    auto control = ControlFile::open(files_.vfs(), files_.control_path(), false);
    if (!control) return control.error();
    VARVE_ASSIGN(published_, control->read());
    return {};
  }
  // What was published for this log; a record of another one says nothing.
  std::uint64_t published(std::uint64_t log_id) {
    if (!published_ || published_->log_id != log_id) return 0;
    if (options_.beside_writer && !is_of_another_boot()) {
      reader_limit_ = published_->durable_sequence;
    }
    return published_->durable_sequence;
  }
  // Whoever wrote it is gone with all that was not on the disk.
  bool is_of_another_boot() const {
    const std::uint64_t now = files_.vfs().boot_id();
    return published_->boot_id != 0 && now != 0 && published_->boot_id != now;
  }
  // Whether a writer has begun since: what was taken for all that the disk has may be in flight.
  Result<bool> is_overtaken() {
    if (!options_.beside_writer || reader_limit_) return false;
    VARVE_TRY(read_control());
    (void)published(out_.log_id);
    return reader_limit_.has_value();
  }

  // How much of a segment's file was durable for sure.
  std::uint64_t published_size(const Segment& segment) const {
    const bool is_it = published_ && published_->log_id == segment.log_id &&
                       published_->active_segment_id == segment.id;
    return is_it ? published_->active_size : 0;
  }

  Result<SegmentRef> open(std::uint64_t id) {
    return open_segment(files_.vfs(), files_.segment_path(id), mode(), id);
  }

  Status from_checkpoint(Checkpoint checkpoint);
  // Forgets all but what was wrong, and where it ended.
  void start_over() {
    ends_early_.reset();
    Recovered empty;
    empty.report.problems = std::move(out_.report.problems);
    empty.report.loss = std::move(out_.report.loss);
    empty.lost_now = out_.lost_now;
    empty.known_generation = out_.known_generation;
    out_ = std::move(empty);
    state_.clear();
  }
  // A segment the checkpoint names; one that is lost leaves its place. The log goes on in one that
  // is in use.
  Status add_known(const CheckpointSegment& known, bool is_in_use);
  const ListedSegment* find_listed(std::uint64_t id) const;
  // Those behind the checkpoint, rising: ones it knows and ones it does not.
  Result<std::vector<SegmentRef>> segments_behind(const CheckpointHead& head);
  Status from_segments();
  // Nothing was ever written to it.
  bool is_unfinished();
  void add_moved(const SegmentRef& segment);
  // Goes through the batches of log segments that rise, from this place in the first one on.
  Status walk(LogWalk& log, const std::vector<SegmentRef>& segments, std::uint64_t offset,
              std::uint64_t chain);
  // Where the log ends and what of it is durable.
  void note_end(const LogWalk& log);
  // What becomes of those that turned out to have no batch.
  Status sort_out_empty(const std::vector<SegmentRef>& segments);
  void apply(const SegmentRef& segment, const Batch& batch);
  void settle();

  const SegmentFiles& files_;
  LogState& state_;
  const RecoveryOptions& options_;
  std::vector<ListedSegment> listed_;  // rising
  std::optional<ControlRecord> published_;
  // Of a reader beside which a writer may be at work: what that one has said to be durable. Later
  // batches count only when the log says that they are.
  std::optional<std::uint64_t> reader_limit_;
  // Without a checkpoint: which version of a key moved segments hold.
  std::unordered_map<std::string, std::uint64_t> moved_versions_;
  bool is_rebuilding_ = false;
  // What a checkpoint that is not used said of its log.
  std::uint64_t needed_log_id_ = 0;
  std::uint64_t needed_sequence_ = 0;
  // Said of the last try alone: the one before may have ended earlier than what is shown.
  std::optional<Error> ends_early_;
  Recovered out_;
};

}  // namespace varve::log
