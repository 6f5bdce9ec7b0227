// The worlds that the benchmarks of the runtime run on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "varve/world.h"

namespace varve::bench {

inline constexpr std::size_t kWorldChunkSize = 64 << 10;

enum class WorldStore { memory, one_file };

// A world of raw chunks of 64 KiB at (0, 0) to (count - 1, 0), all in memory and clean,
// which saves only when it is told to. `one_file` lies in `dir` and is the sample store of
// the tests: it writes the whole world anew at each save, and syncs it.
Result<std::unique_ptr<World>> make_world(WorldStore kind, const std::string& dir,
                                          std::int32_t chunk_count);

// Changes four bytes of a chunk to something new.
Status edit_chunk(World& world, std::int32_t chunk, std::uint32_t offset, std::uint32_t value);

}  // namespace varve::bench
