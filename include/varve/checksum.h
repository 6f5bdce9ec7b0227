// Checksums and hashes of bytes. Each picks the fastest code for the CPU it runs
// on, at run time; the values are the same everywhere.
#pragma once

#include <compare>
#include <cstdint>

#include "varve/bytes.h"

namespace varve {

// Polynomial 0x07, initial value 0, not reflected. Check value ("123456789"): f4.
std::uint8_t crc8(ByteView data, std::uint8_t previous = 0) noexcept;

// IEEE 802.3, as in zip and PNG. Check value: cbf43926. To checksum parts in a
// row, pass the value of what came before as `previous`; this holds for crc8 and
// crc32c too.
std::uint32_t crc32(ByteView data, std::uint32_t previous = 0) noexcept;

// Castagnoli, as in iSCSI and ext4. Check value: e3069283.
std::uint32_t crc32c(ByteView data, std::uint32_t previous = 0) noexcept;

// XXH3, 64 bits. Fast, not for adversaries.
std::uint64_t xxh3(ByteView data, std::uint64_t seed = 0) noexcept;
// Of two pieces as of one that has both.
std::uint64_t xxh3_of_two(ByteView first, ByteView second, std::uint64_t seed = 0) noexcept;

// XXH3, 128 bits: for finding bytes that are the same, which are then compared.
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};
Hash128 xxh3_128(ByteView data) noexcept;

// XXH32, which Minecraft's LZ4 streams carry.
std::uint32_t xxh32(ByteView data, std::uint32_t seed = 0) noexcept;

}  // namespace varve
