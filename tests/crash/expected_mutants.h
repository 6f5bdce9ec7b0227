// Mutants a protocol's tests pin: how many are caught, and why the others are not.
#pragma once

#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "crash/io_error_sweep.h"
#include "crash/subject.h"

namespace varve::crash {

// Operations whose mutants may survive, for one reason. A mutant is explained if all it touches is
// in one of these ranges.
struct Explained {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct ExpectedMutants {
  std::size_t caught_count = 0;
  std::size_t infeasible_count = 0;
  std::size_t survivor_count = 0;
  // Syncs whose absence nothing shows.
  std::set<std::size_t> dropped = {};
  std::vector<Explained> explained = {};
  // Operations on something nobody looks at here: they may be done whenever.
  std::set<std::size_t> irrelevant = {};
};

// What is looked at of each mutant, unless a test has very many of them.
inline constexpr SweepOptions kMutantOptions{.limits = {.all_subsets_atom_count = 6,
                                                        .position_count_max = 24,
                                                        .sample_count = 8,
                                                        .garbage_count_max = 2}};

// Sweeps every mutant of the workload and compares what came of them, as a GoogleTest assertion.
void expect_mutants(std::string_view what, Subject& subject, const Workload& workload,
                    const Start& start, const ExpectedMutants& expected,
                    const SweepOptions& options = kMutantOptions);

}  // namespace varve::crash
