// What a fuzz target is made of: check_input(), which is called with one input
// after the other, and seeds(), valid inputs to start from. Without seeds, random
// bytes rarely get past a magic number; so a run begins with check_seeds().
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "varve/bytes.h"

namespace varve::fuzz {

// Returns whether the input was accepted, or stops the program: an invariant that
// fails is a finding.
bool check_input(ByteView in);

// Each of them is accepted.
std::vector<std::string> seeds();

// Stops the program at a seed its target refuses: mutations of it would get no
// further than the place of the mistake.
inline void check_seeds() {
  const std::vector<std::string> all = seeds();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (check_input(Bytes::copy_of(all[i]))) continue;
    std::fprintf(stderr, "seed %zu of %zu is refused\n", i + 1, all.size());
    std::abort();
  }
}

}  // namespace varve::fuzz

// Not assert(): release builds are fuzzed too.
#define VARVE_INVARIANT(condition)                                                        \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
