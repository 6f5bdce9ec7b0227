#include "varve/checksum.h"

#include <isa-l/crc.h>
#include <libdeflate.h>

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
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

#if defined(__x86_64__)
// libxxhash 0.8.1 returns from its AVX code with the upper halves of the registers in use, and the
// next SSE instruction, which is in the code of every program, then waits: 130 ns on Zen, twice
// what the hash of 2 KB takes.
__attribute__((target("avx"))) void release_avx_registers() noexcept { _mm256_zeroupper(); }

void after_long_hash() noexcept {
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) release_avx_registers();
}
#else
void after_long_hash() noexcept {}
#endif

// Up to here XXH3 uses no vectors.
constexpr std::size_t kXxh3ShortSizeMax = 240;

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
  const std::uint64_t hash = XXH3_64bits_withSeed(data.data(), data.size(), seed);
  if (data.size() > kXxh3ShortSizeMax) after_long_hash();
  return hash;
}

Hash128 xxh3_128(ByteView data) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(data.data(), data.size());
  if (data.size() > kXxh3ShortSizeMax) after_long_hash();
  return {.high = hash.high64, .low = hash.low64};
}

std::uint32_t xxh32(ByteView data, std::uint32_t seed) noexcept {
  return XXH32(data.data(), data.size(), seed);
}

}  // namespace varve
