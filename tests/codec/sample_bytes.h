// Bytes to compress.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "varve/bytes.h"

namespace varve::test {

// Repeats and noise by turns, from nothing to some tens of kilobytes: both what
// compresses and what does not.
inline rc::Gen<std::string> compressible_text() {
  const auto piece = rc::gen::pair(rc::gen::arbitrary<std::string>(), rc::gen::inRange(0, 300));
  return rc::gen::map(rc::gen::container<std::vector<std::pair<std::string, int>>>(piece),
                      [](const std::vector<std::pair<std::string, int>>& pieces) {
                        std::string out;
                        for (const auto& [text, repeat_count] : pieces) {
                          for (int i = 0; i < repeat_count && out.size() < 60'000; ++i) out += text;
                        }
                        return out;
                      });
}

// A few hundred bytes with structure, small enough to damage in every way.
inline Bytes small_sample() {
  std::string text;
  for (int i = 0; i < 24; ++i) text += "block " + std::to_string(i * i) + " of stone;";
  return Bytes::copy_of(text);
}

inline Bytes zeros(std::size_t size) { return Bytes::copy_of(std::string(size, '\0')); }

// Noise that no compressor gets smaller, the same on every run for one seed.
inline Bytes noise(std::size_t size, std::uint64_t seed = 0) {
  std::string text;
  std::uint64_t state = 0x9e3779b97f4a7c15 + seed;
  while (text.size() < size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    text += static_cast<char>(state >> 32);
  }
  return Bytes::copy_of(text);
}

}  // namespace varve::test
