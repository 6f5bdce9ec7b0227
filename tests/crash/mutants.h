// Protocols with one mistake in them, made from what was really recorded.
//
// A sweep that finds nothing proves nothing unless it would have found something.
// Each mutant is a recorded run with one sync dropped, or with two things done in
// the other order; a crash state of it must violate the oracle. One that doesn't
// is either a sync the protocol does not need or a hole in the sweep, and is
// reported as a survivor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "crash/crash_sweep.h"

namespace varve::crash {

struct Mutant {
  std::string description;
  sim::OpLog log;
};

// Between two marks of the log, which is to say inside one commit:
// - every sync dropped;
// - every operation moved before each sync that came before it;
// - every operation moved behind the sync that covers it;
// - the acknowledgement moved before each sync it waited for;
// - every two steps (operations up to and including a sync) swapped, files being
//   created when they were.
// Other neighbours commute in the disk model, so that swapping them changes nothing.
// One at a time, because each is a copy of the log.
void for_each_mutant(const sim::OpLog& log, const std::function<void(Mutant)>& use);

struct MutantResult {
  std::size_t mutant_count = 0;
  std::size_t caught_count = 0;
  std::vector<std::string> infeasible;  // no disk could have done that
  std::vector<std::string> survivors;

  std::string summary() const;
};

// Sweeps every mutant of the workload, run on an empty disk, until its first
// violation; or of any run, such as one that began with a recovery.
MutantResult sweep_mutants(Subject& subject, const Workload& workload, const SweepOptions& options);
MutantResult sweep_mutants(Subject& subject, RecordedRun run, const SweepOptions& options);

}  // namespace varve::crash
