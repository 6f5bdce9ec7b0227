// What a fuzz target is made of: check_input(), which is called with one input
// after the other, and seeds(), valid inputs to start from. Without seeds, random
// bytes rarely get past a magic number.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "varve/bytes.h"

namespace varve::fuzz {

// Returns normally or stops the program: an invariant that fails is a finding.
void check_input(ByteView in);

std::vector<std::string> seeds();

}  // namespace varve::fuzz

// Not assert(): release builds are fuzzed too.
#define VARVE_INVARIANT(condition)                                                        \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
