#include "base/byte_reader.h"

#include <fmt/format.h>

#include <bit>

namespace varve {

Error ByteReader::error(std::string_view what) const {
  return corruption(fmt::format("{}: {} at offset {} of {}", what,
                                failure_ == nullptr ? "bad value" : failure_, offset_, in_.size()));
}

Status ByteReader::status(std::string_view what) const {
  if (!ok()) return error(what);
  return {};
}

Status ByteReader::finish(std::string_view what) {
  if (ok() && remaining() != 0) fail("unexpected bytes after the end");
  return status(what);
}

std::uint32_t ByteReader::u24_le() noexcept {
  const ByteView b = bytes(3);
  if (b.size() != 3) return 0;
  return std::uint32_t(load_le<std::uint16_t>(b.data())) | std::to_integer<std::uint32_t>(b[2])
                                                               << 16;
}

std::uint32_t ByteReader::u24_be() noexcept {
  const ByteView b = bytes(3);
  if (b.size() != 3) return 0;
  return std::uint32_t(load_be<std::uint16_t>(b.data())) << 8 |
         std::to_integer<std::uint32_t>(b[2]);
}

std::uint64_t ByteReader::varint(std::uint64_t max) noexcept {
  const std::size_t start = offset_;
  const int bits_max = max == 0 ? 1 : std::bit_width(max);
  std::uint64_t value = 0;
  for (int shift = 0; shift < bits_max; shift += 7) {
    if (!ok() || remaining() == 0) {
      offset_ = start;
      fail("short varint");
      return 0;
    }
    const auto group = std::to_integer<std::uint64_t>(in_[offset_++]);
    value |= (group & 0x7f) << shift;
    if ((group & 0x80) != 0) continue;
    // At shift 63 only one bit is left; the others would be lost silently.
    if (value > max || (shift == 63 && group > 1)) break;
    return value;
  }
  offset_ = start;
  fail("varint above its limit");
  return 0;
}

std::int64_t ByteReader::zigzag(std::uint64_t max) noexcept {
  const std::uint64_t value = varint(max);
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

std::size_t ByteReader::count(std::uint64_t count, std::size_t item_size_min) noexcept {
  if (!ok()) return 0;
  // A zero-sized item would let any count pass; every item we know has a byte.
  const std::size_t item_size = item_size_min == 0 ? 1 : item_size_min;
  if (count > remaining() / item_size) {
    fail("count larger than the bytes that follow");
    return 0;
  }
  return static_cast<std::size_t>(count);
}

ByteView ByteReader::bytes(std::uint64_t size) noexcept {
  if (!ok() || size > remaining()) {
    fail("short read");
    return {};
  }
  const ByteView out = in_.subspan(offset_, static_cast<std::size_t>(size));
  offset_ += out.size();
  return out;
}

void ByteReader::expect(std::string_view magic) noexcept {
  if (!ok()) return;
  if (remaining() < magic.size()) return fail("short read");
  if (!equal(in_.subspan(offset_, magic.size()), as_byte_view(magic))) {
    return fail("wrong magic");
  }
  offset_ += magic.size();
}

}  // namespace varve
