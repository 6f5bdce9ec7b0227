// Runs arms side by side.
//
// A shared machine drifts: what runs first meets other neighbours than what runs
// last. So each round takes one sample of every arm, in an order that changes with
// the round: over as many rounds as there are arms, every arm comes first once and
// follows every other arm equally often. Merely rotating the order would leave each
// arm always behind the same one, with that one's caches and unfinished writes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "harness/measurement.h"
#include "varve/result.h"

namespace varve::bench {

struct Rounds {
  std::size_t warm_up_count = 0;  // run and thrown away
  std::size_t count = 0;          // run and kept
};

// Whose turn it is, for each place in `round`. A permutation of 0 to arm_count - 1.
std::vector<std::size_t> turns_of_round(std::size_t arm_count, std::size_t round);

// Calls `begin_round` once a round, then `sample(arm_index)` for every arm that has
// not failed, and appends what it returns to the arm's series. An arm whose sample
// fails gets the error and is left out from then on; the others go on.
void interleave(std::vector<Series>& series, Rounds rounds,
                const std::function<void()>& begin_round,
                const std::function<Result<double>(std::size_t arm_index)>& sample);

}  // namespace varve::bench
