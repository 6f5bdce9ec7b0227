// NVCK, the bytes of one chunk: a palette of types and, for each cell, a place in it.
//
// docs/formats/nebula_v1.md#chunks-nvck has the fields. Two versions are read, the newer
// one is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "varve/bytes.h"
#include "varve/nebula.h"
#include "varve/result.h"

namespace varve::nebula {

using Cells = std::span<VoxelType, kCellCount>;
using ConstCells = std::span<const VoxelType, kCellCount>;

// Fills `out`. Bytes that are no NVCK of version 1 or 2, to the last one, are refused, and
// then `out` may hold anything. Allocates nothing but the message.
Status decode_nvck(ByteView in, Cells out);

// Encodes chunks, one after the other. Equal cells give equal bytes: the palette has the
// types in the order of their first cells and no other, and runs are written where they
// are strictly smaller.
//
// It works in some 250 KiB of its own, so it is kept rather than made for each chunk.
class NvckEncoder {
 public:
  // Takes the cells in and returns the size of their encoding.
  std::size_t prepare(ConstCells cells);
  // Writes what was taken in last. `out` has the size prepare() returned.
  void write(std::span<std::byte> out) const;

 private:
  // The place of a type in the palette. A type that is new is added.
  std::uint16_t place_of(VoxelType type);

  // Of each type its place and one more; 0 for a type this chunk has not. All 0 again
  // before the next chunk, by way of the palette: clearing it whole would be most of the work.
  std::array<std::uint16_t, 1 << 16> place_and_one_ = {};
  std::array<VoxelType, kCellCount> palette_ = {};
  std::size_t palette_count_ = 0;
  std::array<std::uint16_t, kCellCount> places_ = {};
  std::size_t run_count_ = 0;
  unsigned width_ = 0;
  bool is_rle_ = false;
};

// The same in a block of its own.
Bytes encode_nvck(ConstCells cells);

}  // namespace varve::nebula
