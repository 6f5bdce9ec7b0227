// The indexes of many entities, in bits: a tick has a few hundred of some ten thousand, and a byte
// for the gap between two of them is a bit or two more than it takes.
//
// Golomb-Rice codes: a gap is as many ones as 2^k goes into it, a zero, and its low k bits. k
// follows from the mean of the gaps, and what would be larger than varints is written as varints,
// so that there is one spelling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "varve/tick.h"

namespace varve::journal {

// For fewer the head takes what the bits save.
inline constexpr std::size_t kGapsCountMin = 8;
// Entities that lie closer stay bytes. So none takes fewer than six bits, and what a count can make
// a reader allocate stays within reach of the bytes that are there.
inline constexpr unsigned kGapBitsMin = 5;
constexpr std::size_t gaps_size_min(std::size_t count) noexcept { return count / 4 * 3; }

// `entities` rise by entity_order(); there are at least kGapsCountMin. Their generations follow
// elsewhere.
void write_gaps(std::span<const EntityId> entities, ByteWriter& out);
// Appends `count` indexes, of generation 0. Fails the reader on what write_gaps() would not have
// written.
void read_gaps(ByteReader& in, std::size_t count, std::vector<EntityId>& out);

}  // namespace varve::journal
