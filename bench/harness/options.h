// The command line of varve_bench.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "varve/result.h"

namespace varve::bench {

struct Options {
  bool list = false;
  bool help = false;
  bool quick = false;
  std::string dir;                     // empty: a fresh folder is made
  std::string json_path;               // empty: no JSON
  std::size_t round_count = 0;         // 0: each workload's own
  std::vector<std::string> workloads;  // empty: all
};

// `arguments` without the program's name. invalid_argument, in one sentence, for
// anything that is not understood; `known` are the workloads there are.
Result<Options> parse_options(std::span<const char* const> arguments,
                              std::span<const std::string> known);

// What --help prints.
std::string usage_text();

}  // namespace varve::bench
