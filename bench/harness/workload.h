// A workload is a named piece of work that several arms do, and what is measured
// while they do it. bench/README.md says how to add one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/interleave.h"
#include "harness/measurement.h"
#include "varve/result.h"

namespace varve::bench {

// One seed for everything, so that two runs of any machine do the same work.
inline constexpr std::uint64_t kSeed = 20'250'711;

struct Context {
  std::string dir;  // an empty folder for this workload alone; removed afterwards
  bool quick = false;
  std::size_t round_count = 0;  // what --rounds asked for, 0 if it did not

  // How often to sample: `normal` times unless the command line says otherwise,
  // after a tenth as many rounds of warm-up.
  Rounds rounds(std::size_t normal) const {
    const std::size_t count = round_count != 0 ? round_count : quick ? 3 : normal;
    return {.warm_up_count = quick ? 1 : 2 + count / 10, .count = count};
  }
};

struct Workload {
  std::string name;
  std::string summary;  // one line for --list
  // Fails only if nothing could be measured; an arm that fails says so in its series.
  std::function<Result<std::vector<Measurement>>(const Context&)> run;
};

using Workloads = std::vector<Workload>;

}  // namespace varve::bench
