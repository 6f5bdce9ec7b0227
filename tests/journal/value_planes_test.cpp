#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "journal/value_planes.h"
#include "support/bytes_text.h"

namespace varve::journal {
namespace {

using test::hex;
using test::to_hex;

Bytes written(ByteView values, std::size_t value_size) {
  ByteWriter out;
  write_planes(values, value_size, out);
  return out.take();
}

Bytes read(const Bytes& planes, std::size_t value_size, std::size_t count, bool& is_good) {
  ByteReader in(planes);
  Buffer out(value_size * count);
  std::fill(out.span().begin(), out.span().end(), std::byte{0});
  read_planes(in, value_size, out.span());
  is_good = in.at_end();
  return std::move(out).freeze();
}

TEST(ValuePlanes, EqualBytesAreStoredOnce) {
  const std::string values(32, '\x05');
  EXPECT_EQ(to_hex(written(as_byte_view(values), 2)), "01050105");
}

TEST(ValuePlanes, FewBytesArePlacesInAPalette) {
  const Bytes values = hex("07 03 03 07 07 07 03 03 03 03 03 03 03 03 03 07");
  EXPECT_EQ(to_hex(written(values, 1)), to_hex(hex("02 0307 39 80")));
  const Bytes three = hex("00 01 02 00 00 00 00 00 00 00 00 00 00 00 00 00 01");
  EXPECT_EQ(to_hex(written(three, 1)), to_hex(hex("03 000102 24 00 00 00 01")));
}

RC_GTEST_PROP(ValuePlanes, WhatIsWrittenIsRead, (std::uint64_t seed)) {
  std::uint64_t state = seed | 1;
  const auto next = [&] {
    return (state = state * 6364136223846793005u + 1442695040888963407u) >> 40;
  };
  const std::size_t size = 1 + next() % 20;
  const std::size_t count = kPlanesCountMin + next() % 100;
  std::string values;
  for (std::size_t i = 0; i < count; ++i) {
    // Each place has its own number of different bytes.
    for (std::size_t p = 0; p < size; ++p)
      values.push_back(static_cast<char>(next() % (1 + p * p)));
  }
  const Bytes planes = written(as_byte_view(values), size);
  bool is_good = false;
  RC_ASSERT(read(planes, size, count, is_good).text() == values);
  RC_ASSERT(is_good);
}

TEST(ValuePlanes, ThereIsOneSpelling) {
  bool is_good = true;
  const auto expect_bad = [&](std::string_view digits) {
    read(hex(digits), 1, 16, is_good);
    EXPECT_FALSE(is_good) << digits;
  };
  expect_bad("00 07030307070703030303030303030307");  // would have been packed
  expect_bad("02 0307 00 00");                        // 7 is not used
  expect_bad("02 0703 39 80");                        // does not rise
  expect_bad("02 0303 39 80");
  expect_bad("03 000102 e4 00 00 00");  // a fourth place
  expect_bad("11 00");                  // too many
  expect_bad("02 0307 39");
  read(hex("03 000102 24 00 00 00 05"), 1, 17, is_good);
  EXPECT_FALSE(is_good) << "bits behind the last";
  read(hex("03 000102 24 00 00 00 01"), 1, 17, is_good);
  EXPECT_TRUE(is_good);
}

}  // namespace
}  // namespace varve::journal
