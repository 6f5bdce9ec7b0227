#include "base/byte_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace varve {

Status ByteWriter::status(std::string_view what) const {
  if (ok()) return {};
  return invalid_argument(fmt::format(
      "{}: larger than the limit of {} bytes, or a field out of its range", what, size_limit_));
}

void ByteWriter::clear() noexcept {
  truncate(0);
  overflowed_ = false;
}

Bytes ByteWriter::take() noexcept {
  assert(ok());
  if (overflowed_) return {};
  return std::move(buffer_).freeze();
}

void ByteWriter::u24_le(std::uint32_t v) {
  if (v > 0xffffff) overflowed_ = true;
  u16_le(static_cast<std::uint16_t>(v));
  u8(static_cast<std::uint8_t>(v >> 16));
}

void ByteWriter::u24_be(std::uint32_t v) {
  if (v > 0xffffff) overflowed_ = true;
  u8(static_cast<std::uint8_t>(v >> 16));
  u16_be(static_cast<std::uint16_t>(v));
}

void ByteWriter::varint(std::uint64_t v) {
  std::byte groups[10];
  std::size_t size = 0;
  for (; v >= 0x80; v >>= 7) groups[size++] = static_cast<std::byte>(v | 0x80);
  groups[size++] = static_cast<std::byte>(v);
  bytes({groups, size});
}

void ByteWriter::zigzag(std::int64_t v) {
  varint(static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63));
}

void ByteWriter::bytes(ByteView v) {
  if (v.empty()) return;
  if (const auto to = extend(v.size()); !to.empty()) std::memcpy(to.data(), v.data(), v.size());
}

void ByteWriter::zeros(std::size_t count) {
  if (const auto to = extend(count); !to.empty()) std::memset(to.data(), 0, to.size());
}

void ByteWriter::align(std::size_t alignment) {
  assert(alignment != 0);
  zeros((alignment - size() % alignment) % alignment);
}

void ByteWriter::truncate(std::size_t size) noexcept {
  buffer_.resize(std::min(size, buffer_.size()));  // Never grows, so never allocates.
}

template <class T>
void ByteWriter::patch(std::size_t offset, T value, void (*store)(std::byte*, T)) {
  if (overflowed_) return;  // The field itself may be among what was not written.
  assert(offset <= size() && sizeof(T) <= size() - offset);
  store(buffer_.data() + offset, value);
}

void ByteWriter::patch_u32_le(std::size_t offset, std::uint32_t v) { patch(offset, v, store_le); }
void ByteWriter::patch_u32_be(std::size_t offset, std::uint32_t v) { patch(offset, v, store_be); }
void ByteWriter::patch_u64_le(std::size_t offset, std::uint64_t v) { patch(offset, v, store_le); }

void ByteWriter::grow(std::size_t size_needed) {
  // Doubling keeps appending linear; the limit keeps the doubling honest.
  const std::size_t doubled = std::max<std::size_t>(64, buffer_.capacity() * 2);
  buffer_.reserve(std::max(size_needed, std::min(doubled, size_limit_)));
}

}  // namespace varve
