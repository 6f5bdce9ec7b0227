#include "codec/sparse_delta.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "codec/compression.h"
#include "damage.h"
#include "sample_bytes.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"

namespace varve {
namespace {

using test::hex;
using test::to_hex;

Bytes delta_of(ByteView base, ByteView target, std::size_t cell_size) {
  ByteWriter out;
  const Status status = encode_sparse_delta(base, target, cell_size, out);
  EXPECT_TRUE(status.ok());
  return out.take();
}

void expect_invalid(std::string_view digits, std::string_view why) {
  const auto out = apply_sparse_delta(hex("0011223344556677"), hex(digits), 100);
  ASSERT_FALSE(out.ok()) << digits;
  EXPECT_EQ(out.error().code(), ErrorCode::corruption);
  EXPECT_NE(out.error().message().find(why), std::string::npos) << out.error().message();
}

TEST(SparseDelta, TheWorkedExample) {
  const Bytes base = hex("0011223344556677");
  const Bytes target = hex("001122aa445566bb");
  EXPECT_EQ(to_hex(delta_of(base, target, 1)), "08010203030101aabb");
  EXPECT_EQ(*apply_sparse_delta(base, hex("08010203030101aabb"), 8), target);
}

TEST(SparseDelta, EqualBuffersAreThreeBytes) {
  const Bytes base = test::noise(100);
  EXPECT_EQ(to_hex(delta_of(base, base, 4)), "640400");
  EXPECT_EQ(*apply_sparse_delta(base, hex("640400"), 100), base);
}

TEST(SparseDelta, CellsAreWhole) {
  // One changed byte changes its cell of four.
  EXPECT_EQ(to_hex(delta_of(hex("0011223344556677"), hex("00112233445566bb"), 4)),
            "0804010101445566bb");
}

TEST(SparseDelta, TinyGapsAreSpelledOutWhereThatIsNoLarger) {
  const std::string base(10, 'a');
  // A gap of two bytes costs as much as a gap and a length; one of three costs more.
  EXPECT_EQ(to_hex(delta_of(as_byte_view(base), as_byte_view("aXaaXaaaaa"), 1)),
            "0a01010104" + to_hex(as_byte_view("XaaX")));
  EXPECT_EQ(to_hex(delta_of(as_byte_view(base), as_byte_view("aXaaaXaaaa"), 1)),
            "0a010201030101" + to_hex(as_byte_view("XX")));
}

TEST(SparseDelta, ALongerTargetContinuesZeros) {
  const Bytes base = hex("0102");
  const Bytes target = hex("0102000000000009");
  EXPECT_EQ(to_hex(delta_of(base, target, 1)), "080101070109");
  EXPECT_EQ(*apply_sparse_delta(base, delta_of(base, target, 1), 8), target);
}

TEST(SparseDelta, AShorterTargetIsACut) {
  const Bytes base = hex("0102030405");
  EXPECT_EQ(to_hex(delta_of(base, hex("0102"), 1)), "020100");
  EXPECT_EQ(*apply_sparse_delta(base, hex("020100"), 8), hex("0102"));
  EXPECT_EQ(apply_sparse_delta(base, delta_of(base, {}, 8), 0)->size(), 0u);
}

TEST(SparseDelta, TheLastCellMayBeCutShort) {
  const Bytes base = hex("00112233445566");
  const Bytes target = hex("001122334455ff");
  EXPECT_EQ(to_hex(delta_of(base, target, 4)), "07040101014455ff");
  EXPECT_EQ(*apply_sparse_delta(base, delta_of(base, target, 4), 7), target);
}

RC_GTEST_PROP(SparseDelta, ApplyingADeltaGivesTheTarget, ()) {
  std::string base = *test::compressible_text();
  std::string target = base;
  target.resize(static_cast<std::size_t>(*rc::gen::inRange<int>(0, 2 * int(base.size()) + 20)));
  const auto edits = *rc::gen::container<std::vector<std::pair<std::uint16_t, char>>>(
      rc::gen::pair(rc::gen::arbitrary<std::uint16_t>(), rc::gen::arbitrary<char>()));
  for (const auto& [at, value] : edits) {
    if (!target.empty()) target[at % target.size()] = value;
  }
  for (const std::size_t cell_size : {1, 2, 3, 4, 7, 8, 16, 4096}) {
    const Bytes delta = delta_of(as_byte_view(base), as_byte_view(target), cell_size);
    const auto back = apply_sparse_delta(as_byte_view(base), delta, target.size());
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->text() == target);
  }
}

RC_GTEST_PROP(SparseDelta, UnrelatedBuffersWork,
              (const std::string& base, const std::string& target)) {
  for (const std::size_t cell_size : {1, 2, 4, 5, 8}) {
    const Bytes delta = delta_of(as_byte_view(base), as_byte_view(target), cell_size);
    RC_ASSERT(apply_sparse_delta(as_byte_view(base), delta, target.size()).value().text() ==
              target);
  }
}

TEST(SparseDelta, EveryPositionOfASingleChangeIsFound) {
  // Where the 32-byte, 8-byte and single-byte steps of the search meet.
  for (std::size_t size = 1; size < 90; ++size) {
    const std::string base(size, 'a');
    for (std::size_t at = 0; at < size; ++at) {
      std::string target = base;
      target[at] = 'b';
      for (const std::size_t cell_size : {1, 2, 4, 8, 5}) {
        const Bytes delta = delta_of(as_byte_view(base), as_byte_view(target), cell_size);
        ASSERT_LE(delta.size(), 5 + cell_size);
        ASSERT_EQ(apply_sparse_delta(as_byte_view(base), delta, size)->text(), target);
      }
    }
  }
}

TEST(SparseDelta, ScatteredEditsCompressToLittleMoreThanTheirBytes) {
  const Bytes base = test::zeros(1 << 20);
  Buffer target = base.clone();
  for (std::size_t i = 0; i < 1000; ++i) target.span()[i * 1000] = std::byte{7};
  ByteWriter small;
  ASSERT_TRUE(
      compression(CompressionId::lz4).compress(delta_of(base, target.view(), 4), small).ok());
  EXPECT_LT(small.size(), 200u);
}

TEST(SparseDelta, ACellSizeOutOfRangeIsRefused) {
  for (const std::size_t cell_size : {std::size_t{0}, kDeltaCellSizeMax + 1}) {
    ByteWriter out;
    const Status status = encode_sparse_delta({}, {}, cell_size, out);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument);
  }
}

TEST(SparseDelta, EveryRuleOfTheFormatIsChecked) {
  expect_invalid("080002 0303 0101 aabb", "cell size 0");
  expect_invalid("08812002 0303 0101 aabb", "varint above its limit");
  expect_invalid("0801ff01 0303 0101 aabb", "count larger");
  // Three runs are nine bytes at the least.
  expect_invalid("080103 0303 0101 aabb", "count larger");
  expect_invalid("080102 0303 0100 aabb", "empty run");
  expect_invalid("080102 0300 0101 aabb", "empty run or gap");
  expect_invalid("080102 0304 0101 aabb", "past the end");
  expect_invalid("080102 0303 0102 aabbcc", "past the end");
  expect_invalid("080101 09 01 aa", "varint above its limit");
  expect_invalid("080101 08 01 aa", "past the end");
  expect_invalid("080101 03 03 aa", "short read");
  expect_invalid("080102 0303 0101 aabbcc", "unexpected bytes after the end");
  expect_invalid("e50701 00", "more than the limit of 100 bytes");
}

TEST(SparseDelta, EveryTruncationIsCorruption) {
  const Bytes base = test::small_sample();
  Buffer target = base.clone();
  for (std::size_t i = 0; i < target.size(); i += 29) target.span()[i] = std::byte{1};
  test::for_every_prefix(delta_of(base, target.view(), 4), [&](const Bytes& cut) {
    const auto out = apply_sparse_delta(base, cut, 1 << 20);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), ErrorCode::corruption);
  });
}

TEST(SparseDelta, ABitFlipIsAnErrorOrStaysWithinTheLimit) {
  constexpr std::size_t kLimit = 100'000;
  const Bytes base = test::small_sample();
  Buffer target = base.clone();
  for (std::size_t i = 0; i < target.size(); i += 29) target.span()[i] = std::byte{1};
  test::for_every_bit_flip(delta_of(base, target.view(), 4), [&](const Bytes& flipped) {
    const test::AllocationWatch watch;
    const auto out = apply_sparse_delta(base, flipped, kLimit);
    EXPECT_TRUE(!out.ok() || out->size() <= kLimit);
    EXPECT_LE(watch.peak_size(), kLimit + 1024);
  });
}

}  // namespace
}  // namespace varve
