// Writes fields into a buffer that grows.
//
// A writer has a size limit. Writing past it is a sticky error: later writes do
// nothing, ok() says so, and the caller checks once at the end. clear() keeps the
// block, so that one writer serves many records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/endian.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

class ByteWriter {
 public:
  static constexpr std::size_t kNoLimit = ~std::size_t{0};

  explicit ByteWriter(std::size_t size_limit = kNoLimit) noexcept : size_limit_(size_limit) {}

  bool ok() const noexcept { return !overflowed_; }
  // Failure as invalid_argument: what was to be written is larger than the format
  // allows, which only the caller can mend.
  Status status(std::string_view what) const;
  // Fails as writing past the limit does: for a value its format cannot hold.
  void fail() noexcept { overflowed_ = true; }
  std::size_t size() const noexcept { return buffer_.size(); }
  ByteView view() const noexcept { return buffer_.view(); }
  void reserve(std::size_t capacity) { buffer_.reserve(capacity); }
  void clear() noexcept;
  // Shares what was written without a copy, and leaves the writer empty. Only while
  // ok(): what overflowed is cut somewhere and must not be used.
  Bytes take() noexcept;

  void u8(std::uint8_t v) { fixed(v, store_le<std::uint8_t>); }
  void u16_le(std::uint16_t v) { fixed(v, store_le<std::uint16_t>); }
  void u32_le(std::uint32_t v) { fixed(v, store_le<std::uint32_t>); }
  void u64_le(std::uint64_t v) { fixed(v, store_le<std::uint64_t>); }
  void u16_be(std::uint16_t v) { fixed(v, store_be<std::uint16_t>); }
  void u32_be(std::uint32_t v) { fixed(v, store_be<std::uint32_t>); }
  void u64_be(std::uint64_t v) { fixed(v, store_be<std::uint64_t>); }
  // The low 24 bits; a value that needs more is an overflow.
  void u24_le(std::uint32_t v);
  void u24_be(std::uint32_t v);

  void i8(std::int8_t v) { u8(static_cast<std::uint8_t>(v)); }
  void i16_le(std::int16_t v) { u16_le(static_cast<std::uint16_t>(v)); }
  void i32_le(std::int32_t v) { u32_le(static_cast<std::uint32_t>(v)); }
  void i64_le(std::int64_t v) { u64_le(static_cast<std::uint64_t>(v)); }
  void i16_be(std::int16_t v) { u16_be(static_cast<std::uint16_t>(v)); }
  void i32_be(std::int32_t v) { u32_be(static_cast<std::uint32_t>(v)); }
  void i64_be(std::int64_t v) { u64_be(static_cast<std::uint64_t>(v)); }

  void f32_le(float v) { u32_le(std::bit_cast<std::uint32_t>(v)); }
  void f64_le(double v) { u64_le(std::bit_cast<std::uint64_t>(v)); }
  void f32_be(float v) { u32_be(std::bit_cast<std::uint32_t>(v)); }
  void f64_be(double v) { u64_be(std::bit_cast<std::uint64_t>(v)); }

  void varint(std::uint64_t v);
  void zigzag(std::int64_t v);

  void bytes(ByteView v);
  void text(std::string_view v) { bytes(as_byte_view(v)); }
  void zeros(std::size_t count);
  // Zeros up to the next multiple of `alignment`.
  void align(std::size_t alignment);

  // `size` indeterminate bytes at the end, to be filled in place (a compressor's
  // output); shrink the writer with truncate() to what was used. Empty on overflow.
  std::span<std::byte> extend(std::size_t size);
  // Drops everything from `size` on. Growing is not possible here.
  void truncate(std::size_t size) noexcept;

  // Overwrites a field written earlier, such as a length or checksum known only at
  // the end. The field must lie inside what was written.
  void patch_u32_le(std::size_t offset, std::uint32_t v);
  void patch_u32_be(std::size_t offset, std::uint32_t v);
  void patch_u64_le(std::size_t offset, std::uint64_t v);

 private:
  template <class T>
  void fixed(T value, void (*store)(std::byte*, T)) {
    if (const auto to = extend(sizeof(T)); !to.empty()) store(to.data(), value);
  }
  template <class T>
  void patch(std::size_t offset, T value, void (*store)(std::byte*, T));
  void grow(std::size_t size_needed);

  Buffer buffer_;
  std::size_t size_limit_;
  bool overflowed_ = false;
};

inline std::span<std::byte> ByteWriter::extend(std::size_t size) {
  const std::size_t start = buffer_.size();
  if (overflowed_ || size > size_limit_ - start) [[unlikely]] {
    overflowed_ = true;
    return {};
  }
  if (size > buffer_.capacity() - start) [[unlikely]]
    grow(start + size);
  buffer_.resize(start + size);
  return {buffer_.data() + start, size};
}

}  // namespace varve
