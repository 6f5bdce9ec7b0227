#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include "support/bytes_text.h"

namespace varve {
namespace {

using test::hex;

TEST(ByteReader, FieldsInBothOrders) {
  const Bytes in = hex("01 0203 040506 0708090a 0b0c0d0e0f101112");
  ByteReader le(in);
  EXPECT_EQ(le.u8(), 0x01);
  EXPECT_EQ(le.u16_le(), 0x0302);
  EXPECT_EQ(le.u24_le(), 0x060504u);
  EXPECT_EQ(le.u32_le(), 0x0a090807u);
  EXPECT_EQ(le.u64_le(), 0x1211100f0e0d0c0bu);
  EXPECT_TRUE(le.at_end());
  ByteReader be(in);
  EXPECT_EQ(be.u8(), 0x01);
  EXPECT_EQ(be.u16_be(), 0x0203);
  EXPECT_EQ(be.u24_be(), 0x040506u);
  EXPECT_EQ(be.u32_be(), 0x0708090au);
  EXPECT_EQ(be.u64_be(), 0x0b0c0d0e0f101112u);
  EXPECT_TRUE(be.finish("fields").ok());
}

TEST(ByteReader, SignedAndFloat) {
  const Bytes in = hex("ff feff fdffffff 0000c03f 3ff8000000000000");
  ByteReader r(in);
  EXPECT_EQ(r.i8(), -1);
  EXPECT_EQ(r.i16_le(), -2);
  EXPECT_EQ(r.i32_le(), -3);
  EXPECT_EQ(r.f32_le(), 1.5f);
  EXPECT_EQ(r.f64_be(), 1.5);
  EXPECT_TRUE(r.at_end());
}

TEST(ByteReader, TheFirstFailureSticks) {
  const Bytes in = hex("010203");
  ByteReader r(in);
  EXPECT_EQ(r.u16_le(), 0x0201);
  EXPECT_EQ(r.u32_le(), 0u);
  EXPECT_EQ(r.u8(), 0) << "a byte is left, but the reader has failed";
  EXPECT_TRUE(r.bytes(1).empty());
  EXPECT_EQ(r.varint(), 0u);
  EXPECT_EQ(r.count(1, 1), 0u);
  r.fail("later reason");
  EXPECT_FALSE(r.ok());
  EXPECT_FALSE(r.at_end());
  EXPECT_EQ(r.error("header").code(), ErrorCode::corruption);
  EXPECT_EQ(r.error("header").message(), "header: short read at offset 2 of 3");
}

TEST(ByteReader, FinishRefusesBytesLeftOver) {
  const Bytes in = hex("0102");
  ByteReader r(in);
  r.u8();
  EXPECT_EQ(r.finish("x").error().message(), "x: unexpected bytes after the end at offset 1 of 2");
}

TEST(ByteReader, VarintsAtTheirEdges) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"00", 0},          {"7f", 127},         {"8001", 128},
      {"ffff03", 0xffff}, {"ffffffff0f", ~0u}, {"ffffffffffffffffff01", ~0ull},
      {"8000", 0},  // Longer than needed, but within what the type may take.
  };
  for (const auto& [digits, value] : cases) {
    const Bytes in = hex(digits);
    ByteReader r(in);
    EXPECT_EQ(r.varint(), value) << digits;
    EXPECT_TRUE(r.at_end()) << digits;
  }
}

TEST(ByteReader, VarintAboveItsLimitFails) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"808004", 0xffff},               // 65536
      {"ffff8300", 0xffff},             // a fourth byte, though it adds nothing
      {"8080808010", 0xffffffff},       // 2^32
      {"ffffffffffffffffff02", ~0ull},  // 2^65 and more: bits would be lost
      {"ffffffffffffffffff81", ~0ull},
      {"ffffffffffffffffff8101", ~0ull},
      {"06", 5},
      {"01", 0},
  };
  for (const auto& [digits, max] : cases) {
    const Bytes in = hex(digits);
    ByteReader r(in);
    EXPECT_EQ(r.varint(max), 0u) << digits;
    EXPECT_FALSE(r.ok()) << digits;
    EXPECT_EQ(r.offset(), 0u) << digits;
  }
}

TEST(ByteReader, EveryPrefixOfAVarintIsShort) {
  const Bytes whole = hex("ffffffffffffffffff01");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ByteReader r(whole.view().first(size));
    EXPECT_EQ(r.varint(), 0u);
    EXPECT_FALSE(r.ok()) << size;
  }
}

TEST(ByteReader, ZigzagAtItsEdges) {
  const std::pair<const char*, std::int64_t> cases[] = {{"00", 0},
                                                        {"01", -1},
                                                        {"02", 1},
                                                        {"03", -2},
                                                        {"feffffffffffffffff01", INT64_MAX},
                                                        {"ffffffffffffffffff01", INT64_MIN}};
  for (const auto& [digits, value] : cases) {
    const Bytes in = hex(digits);
    ByteReader r(in);
    EXPECT_EQ(r.zigzag(), value) << digits;
  }
}

TEST(ByteReader, CountIsBoundedByTheBytesThatFollow) {
  const Bytes in = hex("0001020304050607");
  {
    ByteReader r(in);
    EXPECT_EQ(r.count(2, 4), 2u);
    EXPECT_EQ(r.count(8, 0), 8u);
    EXPECT_TRUE(r.ok());
  }
  for (const std::uint64_t hostile :
       {std::uint64_t{3}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    ByteReader r(in);
    EXPECT_EQ(r.count(hostile, 4), 0u);
    EXPECT_FALSE(r.ok());
  }
}

TEST(ByteReader, HugeSizesDoNotWrapAround) {
  const Bytes in = hex("0001");
  ByteReader r(in);
  r.u8();
  EXPECT_TRUE(r.bytes(~std::uint64_t{0}).empty());
  EXPECT_FALSE(r.ok());
}

TEST(ByteReader, ExpectsMagic) {
  const Bytes in = hex("4e534344 01");
  ByteReader good(in);
  good.expect("NSCD");
  EXPECT_EQ(good.u8(), 1);
  ByteReader bad(in);
  bad.expect("NVCK");
  EXPECT_EQ(bad.error("scene").message(), "scene: wrong magic at offset 0 of 5");
  ByteReader cut(in.view().first(3));
  cut.expect("NSCD");
  EXPECT_FALSE(cut.ok());
}

}  // namespace
}  // namespace varve
