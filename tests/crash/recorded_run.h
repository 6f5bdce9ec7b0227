// A workload that ran once on the simulated disk, ready to be crashed.
#pragma once

#include <vector>

#include "crash/subject.h"
#include "io/sim/disk_op.h"

namespace varve::crash {

// How far a run has come, noted in the log as a mark. A crash right after it may
// leave any state from the durable one up to the one of the last step begun.
struct Progress {
  std::uint32_t durable_count = 0;  // steps no crash may take
  std::uint32_t begun_count = 0;    // steps that may be there
};
constexpr std::uint64_t to_mark(Progress p) {
  return std::uint64_t{p.durable_count} << 32 | p.begun_count;
}
constexpr Progress from_mark(std::uint64_t mark) {
  return {static_cast<std::uint32_t>(mark >> 32), static_cast<std::uint32_t>(mark)};
}

struct RecordedRun {
  sim::DiskImage start;
  sim::OpLog log;
  // What a crash before open() returned may leave. A fresh disk: nothing. After
  // an earlier crash: the acknowledged records, or those in flight then.
  std::vector<Records> before_open;
  // states[k] is what stands before step k; states[0] is what open() showed.
  std::vector<Records> states;
};

// Opens, applies every step and closes, on a disk that starts as `start`. Fails if
// anything fails, if open() shows what is not in `before_open`, or if a session does
// not show what it was given.
Result<RecordedRun> record_run(Subject& subject, const Workload& workload,
                               const sim::DiskImage& start, std::vector<Records> before_open,
                               std::uint64_t seed);

// The oracle: which records a crash may leave after this mark was passed.
std::vector<const Records*> allowed_after(const RecordedRun& run,
                                          std::optional<std::uint64_t> mark);

// Opens a disk and reads everything; a description of what is wrong if that fails
// or if none of `allowed` was found.
std::optional<std::string> check_disk(Subject& subject, Vfs& vfs,
                                      const std::vector<const Records*>& allowed);

}  // namespace varve::crash
