// Fails the Nth disk operation, for N = 1, 2, 3 ... until a run stays untouched.
//
// Invariants checked: nothing crashes; what was acknowledged is there, whether the
// program simply reopens when the disk is well again or the power goes at any point
// before or after the fault; what failed is there wholly or not at all; and the
// reopened store takes another commit.
#pragma once

#include "crash/crash_sweep.h"

namespace varve::crash {

struct IoErrorResult {
  std::uint64_t run_count = 0;
  std::uint64_t failed_run_count = 0;  // runs in which an operation reported the fault
  std::uint64_t state_count = 0;
  std::vector<std::string> violations;

  bool ok() const { return violations.empty(); }
  std::string summary() const;
};

// Where a run starts: an empty disk, or one that holds a save with these records.
struct Start {
  sim::DiskImage image = {};
  Records records = {};
};

// Every operation x {io, out_of_space} x {once, from then on} x {it did nothing, a
// part, or all of its work before it failed}.
IoErrorResult sweep_io_errors(Subject& subject, const Workload& workload,
                              const SweepOptions& options, const Start& start = {});

// Disks with room for 0, `size_step`, 2 * `size_step` ... bytes more than there are at the
// start, until everything fits. Then there is room again.
IoErrorResult sweep_full_disks(Subject& subject, const Workload& workload,
                               const SweepOptions& options, std::uint64_t size_step,
                               const Start& start = {});

// Processes that are killed before their Nth operation, for N = 1, 2, 3 ... until one comes to its
// end. The next process finds the disk as it was seen, though little of that need be durable, and
// must bring the workload to its end; then the power goes at any point of either.
IoErrorResult sweep_killed_processes(Subject& subject, const Workload& workload,
                                     const SweepOptions& options, const Start& start = {});

}  // namespace varve::crash
