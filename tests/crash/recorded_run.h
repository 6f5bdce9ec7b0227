// A workload that ran once on the simulated disk, ready to be crashed.
#pragma once

#include <vector>

#include "crash/subject.h"
#include "io/sim/disk_op.h"

namespace varve::crash {

// Marks in the log. Step k (from 0) begins at 2k+1 and is acknowledged at 2k+2;
// 0 is the moment open() returned.
constexpr std::uint64_t kOpenedMark = 0;
constexpr std::uint64_t begin_mark(std::size_t step) { return 2 * step + 1; }
constexpr std::uint64_t acknowledge_mark(std::size_t step) { return 2 * step + 2; }
constexpr bool is_acknowledge(std::uint64_t mark) { return mark != 0 && mark % 2 == 0; }

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
// anything fails, or if open() shows what is not in `before_open`.
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
