#include "varve/checksum.h"

#include <isa-l/crc.h>
#include <libdeflate.h>

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace varve {
namespace {

constexpr std::array<std::uint8_t, 256> make_crc8_table() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x80) != 0 ? crc << 1 ^ 0x07 : crc << 1;
    table[i] = static_cast<std::uint8_t>(crc);
  }
  return table;
}
constexpr auto kCrc8Table = make_crc8_table();

}  // namespace

std::uint8_t crc8(ByteView data, std::uint8_t previous) noexcept {
  for (const std::byte b : data) previous = kCrc8Table[previous ^ std::to_integer<unsigned>(b)];
  return previous;
}

std::uint32_t crc32(ByteView data, std::uint32_t previous) noexcept {
  // libdeflate returns its initial value, not `previous`, for a null pointer.
  if (data.empty()) return previous;
  return libdeflate_crc32(previous, data.data(), data.size());
}

std::uint32_t crc32c(ByteView data, std::uint32_t previous) noexcept {
  // ISA-L takes the length as an int and leaves the inversions to the caller.
  constexpr std::size_t kPieceSizeMax = std::size_t{1} << 30;
  std::uint32_t crc = ~previous;
  while (!data.empty()) {
    const std::size_t size = std::min(data.size(), kPieceSizeMax);
    // The interface lacks a const; the function only reads.
    auto* from = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(data.data()));
    crc = crc32_iscsi(from, static_cast<int>(size), crc);
    data = data.subspan(size);
  }
  return ~crc;
}

std::uint64_t xxh3(ByteView data, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

std::uint32_t xxh32(ByteView data, std::uint32_t seed) noexcept {
  return XXH32(data.data(), data.size(), seed);
}

}  // namespace varve
