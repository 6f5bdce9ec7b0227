#include "base/chained_hash.h"

#include <array>
#include <cassert>
#include <cstring>

#include "base/endian.h"
#include "varve/checksum.h"

namespace varve {

std::uint64_t chained_hash(ByteView head, std::uint64_t rest_hash, std::uint64_t seed) noexcept {
  assert(head.size() <= kChainedHeadSizeMax);
  std::array<std::byte, kChainedHeadSizeMax + sizeof(rest_hash)> both;
  if (!head.empty()) std::memcpy(both.data(), head.data(), head.size());
  store_le(both.data() + head.size(), rest_hash);
  return xxh3(ByteView(both).first(head.size() + sizeof(rest_hash)), seed);
}

}  // namespace varve
