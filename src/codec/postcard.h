// postcard, the binary form several formats keep their structures in.
//
// Unsigned integers wider than a byte are LEB128 varints, signed ones zigzag
// varints; u8, i8 and bool are one byte; floats are little-endian; an array of
// fixed length is its items; a sequence, string or byte string is a varint length
// and its items; an option is 00, or 01 and the value; an enum is the varint index
// of the variant and its fields. Structs are their fields in order, so that reading
// one is calling the reader once per field:
//
//   PostcardReader p(bytes);
//   Player player{.id = p.u64(), .name = std::string(p.text())};
//   VARVE_TRY(p.finish("player"));
//
// Errors are those of ByteReader: sticky, checked once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/byte_reader.h"
#include "base/byte_writer.h"

namespace varve {

class PostcardReader {
 public:
  explicit PostcardReader(ByteView in) noexcept : in_(in) {}

  bool ok() const noexcept { return in_.ok(); }
  Status status(std::string_view what) const { return in_.status(what); }
  // Also demands that every byte was read.
  Status finish(std::string_view what) { return in_.finish(what); }
  // The reader below, for magic numbers in front and for fail().
  ByteReader& bytes_below() noexcept { return in_; }

  // Only 00 and 01; anything else is a failure.
  bool boolean() noexcept;
  std::uint8_t u8() noexcept { return in_.u8(); }
  std::int8_t i8() noexcept { return in_.i8(); }
  // A varint above the type's maximum is a failure.
  std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(in_.varint(0xffff)); }
  std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(in_.varint(0xffffffff)); }
  std::uint64_t u64() noexcept { return in_.varint(); }
  // usize of the program that wrote it, which was 64 bits wide.
  std::uint64_t usize() noexcept { return in_.varint(); }
  std::int16_t i16() noexcept { return static_cast<std::int16_t>(in_.zigzag(0xffff)); }
  std::int32_t i32() noexcept { return static_cast<std::int32_t>(in_.zigzag(0xffffffff)); }
  std::int64_t i64() noexcept { return in_.zigzag(); }
  float f32() noexcept { return in_.f32_le(); }
  double f64() noexcept { return in_.f64_le(); }

  // True if a value follows.
  bool option() noexcept { return boolean(); }
  // The number of items that follow, each of at least `item_size_min` encoded
  // bytes; more than what remains can hold is a failure, so that the caller may
  // reserve() it.
  std::size_t sequence(std::size_t item_size_min = 1) noexcept;
  // Borrowed from the input. Text that is not UTF-8 is a failure.
  std::string_view text() noexcept;
  ByteView bytes() noexcept { return in_.bytes(in_.varint()); }
  // The index of an enum's variant, below `variant_count`.
  std::uint32_t variant(std::uint32_t variant_count) noexcept;

 private:
  ByteReader in_;
};

// Appends to a ByteWriter, whose limit and errors are those of the writer.
class PostcardWriter {
 public:
  explicit PostcardWriter(ByteWriter& out) noexcept : out_(out) {}

  void boolean(bool v) { out_.u8(v ? 1 : 0); }
  void u8(std::uint8_t v) { out_.u8(v); }
  void i8(std::int8_t v) { out_.i8(v); }
  void u16(std::uint16_t v) { out_.varint(v); }
  void u32(std::uint32_t v) { out_.varint(v); }
  void u64(std::uint64_t v) { out_.varint(v); }
  void usize(std::uint64_t v) { out_.varint(v); }
  void i16(std::int16_t v) { out_.zigzag(v); }
  void i32(std::int32_t v) { out_.zigzag(v); }
  void i64(std::int64_t v) { out_.zigzag(v); }
  void f32(float v) { out_.f32_le(v); }
  void f64(double v) { out_.f64_le(v); }

  // The value follows if there is one.
  void option(bool has_value) { boolean(has_value); }
  void sequence(std::size_t count) { out_.varint(count); }
  // Text that is not UTF-8 fails the writer: no reader would take it.
  void text(std::string_view v);
  void bytes(ByteView v);
  void variant(std::uint32_t index) { out_.varint(index); }

 private:
  ByteWriter& out_;
};

}  // namespace varve
