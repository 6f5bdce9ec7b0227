// Checksums and hashes of bytes. Each picks the fastest code for the CPU it runs
// on, at run time; the values are the same everywhere.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

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

// Bytes with their hash, xxh3() of them, so that whoever hands them on need not make it twice. It
// is never another's: both are set once, together, and there is no moving one away from the other.
class HashedBytes {
 public:
  explicit HashedBytes(Bytes bytes) noexcept : bytes_(std::move(bytes)), hash_(xxh3(bytes_)) {}
  HashedBytes(const HashedBytes&) noexcept = default;
  HashedBytes& operator=(const HashedBytes&) noexcept = default;

  const Bytes& bytes() const noexcept { return bytes_; }
  std::uint64_t hash() const noexcept { return hash_; }
  std::size_t size() const noexcept { return bytes_.size(); }

 private:
  Bytes bytes_;
  std::uint64_t hash_;
};

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
