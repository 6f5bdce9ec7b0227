// Bytes regrouped by their place in a cell, so that a compressor sees like beside
// like: all materials of a pixel chunk, then all colours, and so on.
//
// With a stride of 4, `m0 c0 d0 f0 m1 c1 d1 f1 x` becomes `m0 m1 c0 c1 d0 d1 f0 f1 x`:
// plane p holds byte p of every whole cell, and the bytes after the last whole cell
// follow unchanged. A stride of 0 or 1 changes nothing.
#pragma once

#include <cstddef>
#include <span>

#include "varve/bytes.h"

namespace varve {

// `out` has the size of `in` and does not overlap it. Any stride works; 2, 4 and 8
// are fast.
void split_byte_planes(ByteView in, std::size_t stride, std::span<std::byte> out) noexcept;

// Undoes split_byte_planes with the same stride.
void join_byte_planes(ByteView in, std::size_t stride, std::span<std::byte> out) noexcept;

}  // namespace varve
