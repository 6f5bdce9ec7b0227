// Joins a target to libFuzzer, and its seeds to the mutations, so that a run needs
// no folder of inputs to reach the deep code.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "fuzz_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  varve::fuzz::check_seeds();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  varve::fuzz::check_input(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned int random) {
  static const std::vector<std::string> seeds = varve::fuzz::seeds();
  // Now and then from a seed; otherwise from what libFuzzer found interesting.
  if (!seeds.empty() && random % 32 == 0) {
    const std::string& seed = seeds[random / 32 % seeds.size()];
    size = std::min(seed.size(), size_max);
    std::memcpy(data, seed.data(), size);
  }
  return LLVMFuzzerMutate(data, size, size_max);
}
