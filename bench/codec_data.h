// Generated chunks to compress. They are made of integers alone, so that every
// machine compresses the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "varve/bytes.h"

namespace varve::bench {

inline constexpr std::size_t kPixelSize = 4;

// 1 MiB, 512 x 512 pixels of four bytes: material, colour, damage, flags. A
// landscape in section: sky, grass, soil, rock with ores, caves and water.
Buffer make_pixel_chunk(std::uint64_t seed);

// About 36 KB of NBT in the shape of a Minecraft chunk: sections with palettes,
// packed block states, light, biomes and a few block entities.
Bytes make_nbt_chunk(std::uint64_t seed);

// `base` with one cell in a hundred changed, here and there.
Buffer edit_one_percent(ByteView base, std::size_t cell_size, std::uint64_t seed);

}  // namespace varve::bench
