// Protocols with one mistake in them, made from what was really recorded.
//
// A sweep that finds nothing proves nothing unless it would have found something.
// Each mutant is a recorded run with one sync dropped, or with two things done in
// the other order; a crash state of it must violate the oracle. One that doesn't
// is either a sync the protocol does not need or a hole in the sweep, and is
// reported as a survivor.
#pragma once

#include <string>
#include <vector>

#include "crash/crash_sweep.h"

namespace varve::crash {

struct Mutant {
  std::string description;
  sim::OpLog log;
};

// - every sync dropped;
// - every operation moved from behind a sync to before it, and from before the
//   sync that covers it to behind it (the other neighbours commute in the disk
//   model, so that swapping them changes nothing);
// - every acknowledgement moved before the sync it waits for;
// - every two steps (operations up to and including a sync) inside one commit
//   swapped.
std::vector<Mutant> make_mutants(const sim::OpLog& log);

struct MutantResult {
  std::size_t mutant_count = 0;
  std::size_t infeasible_count = 0;  // no disk could have done that
  std::size_t caught_count = 0;
  std::vector<std::string> survivors;

  std::string summary() const;
};

// Sweeps every mutant of the workload until its first violation.
MutantResult sweep_mutants(Subject& subject, const Workload& workload, const SweepOptions& options);

}  // namespace varve::crash
