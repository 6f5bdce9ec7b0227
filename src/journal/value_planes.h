// Values of one size, regrouped by their bytes' places and packed: what a tick has most of is many
// small values of one component (positions, healths), in which some bytes are the same for nearly
// all and others are noise. A compressor that knows only repetitions, as LZ4, makes little of
// either.
//
// A plane has byte p of every value. It begins with a u8, the number of different bytes in it: 1 to
// 16 of them follow, rising, and for each value its place among them, in 0, 1, 2 or 4 bits, the
// lowest bits first, zero bits behind the last; or 0, and the bytes as they are. A plane is packed
// if and only if that is smaller, so that there is one spelling.
#pragma once

#include <cstddef>
#include <span>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace varve::journal {

// A plane of n bytes may come from three. Values up to this size keep what decoding allocates
// within this many times the input.
inline constexpr std::size_t kPlanesValueSizeMax = 64;
// For fewer values the heads of the planes take more than planes save.
inline constexpr std::size_t kPlanesCountMin = 16;

constexpr bool has_planes(std::size_t value_size, std::size_t count) noexcept {
  return value_size >= 1 && value_size <= kPlanesValueSizeMax && count >= kPlanesCountMin;
}

// From here on a run says by a byte whether its values are in planes: 1 if and only if those are
// smaller than the values, else 0 and the values.
inline constexpr std::size_t kPlaneChoiceCountMin = 4;
constexpr bool may_have_planes(std::size_t value_size, std::size_t count) noexcept {
  return value_size >= 1 && value_size <= kPlanesValueSizeMax && count >= kPlaneChoiceCountMin;
}

// `values` are in a row, each `value_size` bytes, which must divide them.
void write_planes(ByteView values, std::size_t value_size, ByteWriter& out);
// Fills `values`; fails the reader on anything write_planes() would not have written.
void read_planes(ByteReader& in, std::size_t value_size, std::span<std::byte> values);

// Passes over the planes of `count` values; value `row`, if there is one, goes to `value`. Checks
// no more than it needs.
void pick_from_planes(ByteReader& in, std::size_t value_size, std::size_t count, std::size_t row,
                      std::span<std::byte> value);

// For runs of fewer than kPlanesCountMin.
void write_planes_if_smaller(ByteView values, std::size_t value_size, ByteWriter& out);
// The byte before them: true if planes follow. Fails the reader if it was the wrong choice.
bool read_plane_choice(ByteReader& in, std::size_t value_size, std::size_t count);

}  // namespace varve::journal
