#include "base/byte_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/byte_reader.h"
#include "support/bytes_text.h"

namespace varve {
namespace {

using test::to_hex;

TEST(ByteWriter, FieldsInBothOrders) {
  ByteWriter w;
  w.u8(0x01);
  w.u16_le(0x0302);
  w.u24_be(0x040506);
  w.u32_be(0x0708090a);
  w.u64_le(0x1211100f0e0d0c0b);
  w.i16_be(-2);
  w.f32_be(1.5f);
  EXPECT_EQ(to_hex(w.view()), "0102030405060708090a0b0c0d0e0f101112fffe3fc00000");
}

RC_GTEST_PROP(ByteWriter, WhatIsWrittenIsRead,
              (std::uint8_t a, std::int16_t b, std::uint32_t c, std::int64_t d, std::uint64_t e,
               std::int64_t f, double g, const std::string& h)) {
  ByteWriter w;
  w.u8(a);
  w.i16_le(b);
  w.u32_be(c);
  w.i64_be(d);
  w.varint(e);
  w.zigzag(f);
  w.f64_le(g);
  w.u24_le(c & 0xffffff);
  w.varint(h.size());
  w.text(h);
  const Bytes out = w.take();
  ByteReader r(out);
  RC_ASSERT(r.u8() == a);
  RC_ASSERT(r.i16_le() == b);
  RC_ASSERT(r.u32_be() == c);
  RC_ASSERT(r.i64_be() == d);
  RC_ASSERT(r.varint() == e);
  RC_ASSERT(r.zigzag() == f);
  RC_ASSERT(r.f64_le() == g);
  RC_ASSERT(r.u24_le() == (c & 0xffffff));
  RC_ASSERT(as_text(r.bytes(r.varint())) == h);
  RC_ASSERT(r.finish("all").ok());
}

TEST(ByteWriter, PastTheLimitIsStickyAndWritesNothing) {
  ByteWriter w(6);
  w.u32_le(1);
  EXPECT_TRUE(w.ok());
  w.u32_le(2);
  w.u8(3);
  EXPECT_FALSE(w.ok());
  EXPECT_EQ(w.size(), 4u);
  EXPECT_EQ(w.status("record").error().code(), ErrorCode::invalid_argument);
  w.clear();
  w.zeros(6);
  EXPECT_TRUE(w.ok());
  w.zeros(std::size_t(-1));
  EXPECT_FALSE(w.ok());
}

TEST(ByteWriter, AValueAbove24BitsIsAnError) {
  ByteWriter w;
  w.u24_le(0x1000000);
  EXPECT_FALSE(w.ok());
}

TEST(ByteWriter, PatchesAndAligns) {
  ByteWriter w;
  w.u32_le(0);
  w.u64_le(0);
  w.text("abc");
  w.align(8);
  EXPECT_EQ(w.size(), 16u);
  w.align(8);
  EXPECT_EQ(w.size(), 16u);
  w.patch_u32_be(0, 0x01020304);
  w.patch_u64_le(4, 5);
  EXPECT_EQ(to_hex(w.view()), "01020304050000000000000061626300");
}

TEST(ByteWriter, ExtendThenTruncateKeepsWhatWasUsed) {
  ByteWriter w;
  w.u8(9);
  const auto room = w.extend(100);
  room[0] = std::byte{8};
  w.truncate(2);
  w.u8(7);
  EXPECT_EQ(to_hex(w.view()), "090807");
}

TEST(ByteWriter, TakeLeavesItEmptyAndClearKeepsTheBlock) {
  ByteWriter w;
  w.text("first");
  const Bytes first = w.take();
  EXPECT_EQ(w.size(), 0u);
  w.text("second");
  const std::byte* block = w.view().data();
  EXPECT_EQ(first.text(), "first");
  w.clear();
  w.text("third");
  EXPECT_EQ(w.view().data(), block);
}

}  // namespace
}  // namespace varve
