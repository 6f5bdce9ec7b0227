// Invariants checked: no field is read outside the input; the offset never passes
// the end and stays where it is after a failure; a varint keeps to its maximum and,
// written again, is read as the same value.
#include "base/byte_reader.h"

#include "base/byte_writer.h"
#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

void check_varint(ByteReader& r, std::uint64_t max) {
  const std::uint64_t value = r.varint(max);
  VARVE_INVARIANT(value <= max);
  if (!r.ok()) {
    VARVE_INVARIANT(value == 0);
    return;
  }
  ByteWriter out;
  out.varint(value);
  ByteReader again(out.view());
  VARVE_INVARIANT(again.varint(max) == value && again.at_end());
}

void check_zigzag(ByteReader& r) {
  const std::int64_t value = r.zigzag();
  ByteWriter out;
  out.zigzag(value);
  ByteReader again(out.view());
  VARVE_INVARIANT(again.zigzag() == value && again.at_end());
}

void read_one(ByteReader& r, unsigned kind) {
  switch (kind % 12) {
    case 0:
      return check_varint(r, ~std::uint64_t{0});
    case 1:
      return check_varint(r, 0xffffffff);
    case 2:
      return check_varint(r, 0xffff);
    case 3:
      return check_varint(r, 0);
    case 4:
      return check_zigzag(r);
    case 5:
      return void(r.u64_le());
    case 6:
      return void(r.u32_be());
    case 7:
      return void(r.u24_le());
    case 8:
      return void(r.u16_be());
    case 9:
      return void(r.bytes(r.varint()));
    case 10: {
      const std::size_t count = r.count(r.varint(), kind / 12);
      VARVE_INVARIANT(count <= r.remaining());
      return;
    }
    default:
      return r.expect("NSCD");
  }
}

}  // namespace

// The first byte says how many of the next choose a field each; the rest is input.
bool check_input(ByteView in) {
  if (in.empty()) return false;
  const std::size_t choice_count =
      std::min<std::size_t>(std::to_integer<unsigned>(in[0]), in.size() - 1);
  const ByteView choices = in.subspan(1, choice_count);
  ByteReader r(in.subspan(1 + choice_count));
  const std::size_t size = r.remaining();
  for (const std::byte choice : choices) {
    const std::size_t offset_before = r.offset();
    const bool was_ok = r.ok();
    read_one(r, std::to_integer<unsigned>(choice));
    VARVE_INVARIANT(r.offset() <= size && r.offset() >= offset_before);
    VARVE_INVARIANT(was_ok || (!r.ok() && r.offset() == offset_before));
    VARVE_INVARIANT(r.offset() + r.remaining() == size);
  }
  VARVE_INVARIANT(r.ok() == r.status("input").ok());
  return r.ok();
}

std::vector<std::string> seeds() {
  return {
      std::string(
          "\x03\x00\x01\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\x0f\x03", 20),
      std::string("\x04\x0b\x09\x0a\x07NSCD\x02xy\x03\x01\x02\x03\x04", 17)};
}

}  // namespace varve::fuzz
