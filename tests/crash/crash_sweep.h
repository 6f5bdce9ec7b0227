// Crashes a workload at every point, in every way the disk model knows, reopens
// it and compares every record with the oracle.
//
// Invariants checked, for each crash state: the store opens; it holds exactly the
// records of the last acknowledged step or of one begun after it. For one state in
// `recovery_every`: recovery may itself be crashed at every point, and after it the
// store takes another commit, which may be crashed too.
//
// States are counted as they are checked. What was pending at one point is often
// still pending at the next, so that not all of them differ.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "crash/recorded_run.h"
#include "io/sim/crash_states.h"

namespace varve::crash {

struct SweepOptions {
  std::uint64_t seed = 1;
  sim::CrashLimits limits = {};
  // One state in so many is also crashed during its recovery and during a commit
  // after it; 0 for none.
  std::uint64_t recovery_every = 0;
  sim::CrashLimits recovery_limits = {.all_subsets_atom_count = 4,
                                      .position_count_max = 8,
                                      .sample_count = 4,
                                      .garbage_count_max = 2};
  // One state in so many is looked at, by the seed, beside all of those right after an operation
  // that failed and after an acknowledgement. For runs of which there are many; 1 is every state.
  std::uint64_t state_every = 1;
  // The sweep ends after this many violations.
  std::size_t violation_count_max = 3;
};

struct SweepResult {
  std::uint64_t point_count = 0;
  std::uint64_t state_count = 0;
  std::uint64_t recovery_state_count = 0;  // of crashes during or after recovery
  std::vector<std::string> violations;     // each names the seed, the point, the state

  bool ok() const { return violations.empty(); }
  std::string summary() const;
};

// Runs the workload on an empty disk and sweeps it.
SweepResult sweep_crashes(Subject& subject, const Workload& workload, const SweepOptions& options);

// Sweeps a run that was recorded, or a mutant of one. A log that makes no sense on a
// disk, as some reordered ones don't, is reported through `feasible`; where that is
// null it is a violation.
SweepResult sweep_run(Subject& subject, const RecordedRun& run, const SweepOptions& options,
                      bool* feasible = nullptr);

}  // namespace varve::crash
