// Varints in formats that have one spelling for each value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/byte_reader.h"

namespace varve {

// How many bytes ByteWriter::varint takes for `v`.
constexpr std::size_t varint_size(std::uint64_t v) noexcept {
  return (static_cast<std::size_t>(std::bit_width(v | 1)) + 6) / 7;
}

// A varint that is no longer than it has to be. Where every field is read with this, equal
// values are equal bytes, and a store may compare records without decoding them.
inline std::uint64_t minimal_varint(ByteReader& r, std::uint64_t max) noexcept {
  const std::size_t start = r.offset();
  const std::uint64_t value = r.varint(max);
  if (r.ok() && r.offset() - start != varint_size(value)) {
    r.fail("varint longer than needed");
    return 0;
  }
  return value;
}

}  // namespace varve
