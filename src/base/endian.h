// Integers and floats to bytes in a stated order, and back. This is the only
// place that knows the order of bytes in the machine; ByteReader and ByteWriter
// are made of it, and everything else of them.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace varve {

template <std::unsigned_integral T>
constexpr T reverse_bytes(T value) noexcept {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

// `from` and `to` need no alignment; sizeof(T) bytes must be there.
template <std::unsigned_integral T>
T load_le(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? value : reverse_bytes(value);
}

template <std::unsigned_integral T>
T load_be(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::big ? value : reverse_bytes(value);
}

template <std::unsigned_integral T>
void store_le(std::byte* to, T value) noexcept {
  if constexpr (std::endian::native != std::endian::little) value = reverse_bytes(value);
  std::memcpy(to, &value, sizeof value);
}

template <std::unsigned_integral T>
void store_be(std::byte* to, T value) noexcept {
  if constexpr (std::endian::native != std::endian::big) value = reverse_bytes(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace varve
