// The hash of bytes in two parts, of which the second may be large and is gone over once, whoever
// needs a hash of it: formats seal a value with one of these, so that another seal around it costs
// next to nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "varve/bytes.h"

namespace varve {

inline constexpr std::size_t kChainedHeadSizeMax = 16;

// XXH3 of `head`, of at most kChainedHeadSizeMax bytes, and behind it, as a little-endian u64, of
// `rest_hash`, which is xxh3() of the rest.
std::uint64_t chained_hash(ByteView head, std::uint64_t rest_hash, std::uint64_t seed) noexcept;

}  // namespace varve
