// What encoder and decoder of a tick agree on: docs/formats/rgb_wal_v1.md#mutations. Keep it and
// that page in step.
#pragma once

#include <cstdint>

namespace varve::journal {

// What is written. 1 has every index in bytes, and planes only in long runs.
inline constexpr std::uint8_t kMutationsVersion = 2;

// In the order in which they are written. A section without mutations is not there.
enum class Section : std::uint8_t {
  authors = 1,
  despawns,
  passing,
  spawns,
  removals,
  inserts,
  moves,
  singletons,
  images,
  puts,
  edits,
  players,
  globals,
  entity_images,
  player_images,
  global_images,
};
// Set in the number of a section that ends with a column of authors.
inline constexpr std::uint8_t kHasAuthors = 0x80;

}  // namespace varve::journal
