// Reads fields from bytes that may be hostile.
//
// Errors are sticky: after the first failure every call returns zero or nothing
// and changes nothing, so that a decoder reads all its fields in a row and checks
// once. Nothing here allocates more than the bytes that are really there allow.
//
//   ByteReader r(in);
//   Header h{.payload_size = r.u32_le(), .tick = r.u64_le()};
//   if (!r.ok()) return r.error("wal: entry header");
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/endian.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

class ByteReader {
 public:
  explicit ByteReader(ByteView in) noexcept : in_(in) {}

  bool ok() const noexcept { return failure_ == nullptr; }
  // Where the next read starts; after a failure, where the failed one started.
  std::size_t offset() const noexcept { return offset_; }
  std::size_t remaining() const noexcept { return in_.size() - offset_; }
  bool at_end() const noexcept { return ok() && remaining() == 0; }

  // The sticky failure as an Error of code corruption: "what: why at offset N of M".
  Error error(std::string_view what) const;
  // ok() as a Status; finish() also demands that every byte was read.
  Status status(std::string_view what) const;
  Status finish(std::string_view what);

  // Marks the input as bad for a reason only the caller knows. `why` must be a
  // literal. The first failure stays.
  void fail(const char* why) noexcept {
    if (failure_ == nullptr) failure_ = why;
  }

  std::uint8_t u8() noexcept { return fixed<std::uint8_t, load_le<std::uint8_t>>(); }
  std::uint16_t u16_le() noexcept { return fixed<std::uint16_t, load_le<std::uint16_t>>(); }
  std::uint32_t u32_le() noexcept { return fixed<std::uint32_t, load_le<std::uint32_t>>(); }
  std::uint64_t u64_le() noexcept { return fixed<std::uint64_t, load_le<std::uint64_t>>(); }
  std::uint16_t u16_be() noexcept { return fixed<std::uint16_t, load_be<std::uint16_t>>(); }
  std::uint32_t u32_be() noexcept { return fixed<std::uint32_t, load_be<std::uint32_t>>(); }
  std::uint64_t u64_be() noexcept { return fixed<std::uint64_t, load_be<std::uint64_t>>(); }
  std::uint32_t u24_le() noexcept;
  std::uint32_t u24_be() noexcept;

  std::int8_t i8() noexcept { return static_cast<std::int8_t>(u8()); }
  std::int16_t i16_le() noexcept { return static_cast<std::int16_t>(u16_le()); }
  std::int32_t i32_le() noexcept { return static_cast<std::int32_t>(u32_le()); }
  std::int64_t i64_le() noexcept { return static_cast<std::int64_t>(u64_le()); }
  std::int16_t i16_be() noexcept { return static_cast<std::int16_t>(u16_be()); }
  std::int32_t i32_be() noexcept { return static_cast<std::int32_t>(u32_be()); }
  std::int64_t i64_be() noexcept { return static_cast<std::int64_t>(u64_be()); }

  float f32_le() noexcept { return std::bit_cast<float>(u32_le()); }
  double f64_le() noexcept { return std::bit_cast<double>(u64_le()); }
  float f32_be() noexcept { return std::bit_cast<float>(u32_be()); }
  double f64_be() noexcept { return std::bit_cast<double>(u64_be()); }

  // LEB128, least significant group first. A value above `max` is a failure, and
  // so is an encoding longer than `max` can need: lengths and counts are bounded
  // where they are read.
  std::uint64_t varint(std::uint64_t max = ~std::uint64_t{0}) noexcept;
  // Zigzag: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
  std::int64_t zigzag(std::uint64_t max = ~std::uint64_t{0}) noexcept;

  // Checks a count that was read: `count` items of at least `item_size_min` bytes
  // each must fit in what remains. Returns the count, or 0 after failing, so that
  // a flipped bit never becomes a huge reserve().
  std::size_t count(std::uint64_t count, std::size_t item_size_min) noexcept;

  // The next `size` bytes, borrowed from the input. Empty after a failure.
  ByteView bytes(std::uint64_t size) noexcept;
  ByteView rest() noexcept { return bytes(remaining()); }
  void skip(std::uint64_t size) noexcept { bytes(size); }
  // Fails unless the next bytes are exactly `magic`.
  void expect(std::string_view magic) noexcept;

 private:
  template <class T, T (*load)(const std::byte*)>
  T fixed() noexcept {
    if (failure_ != nullptr || remaining() < sizeof(T)) [[unlikely]] {
      fail("short read");
      return 0;
    }
    const T value = load(in_.data() + offset_);
    offset_ += sizeof(T);
    return value;
  }

  ByteView in_;
  std::size_t offset_ = 0;
  const char* failure_ = nullptr;
};

}  // namespace varve
