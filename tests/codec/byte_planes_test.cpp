#include "codec/byte_planes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "sample_bytes.h"

namespace varve {
namespace {

Bytes split(ByteView in, std::size_t stride) {
  Buffer out(in.size());
  split_byte_planes(in, stride, out.span());
  return std::move(out).freeze();
}

Bytes join(ByteView in, std::size_t stride) {
  Buffer out(in.size());
  join_byte_planes(in, stride, out.span());
  return std::move(out).freeze();
}

TEST(BytePlanes, TheWorkedExample) {
  EXPECT_EQ(split(as_byte_view("mcdfMCDFx"), 4).text(), "mMcCdDfFx");
  EXPECT_EQ(join(as_byte_view("mMcCdDfFx"), 4).text(), "mcdfMCDFx");
}

TEST(BytePlanes, AStrideOfZeroOrOneChangesNothing) {
  for (const std::size_t stride : {0, 1}) {
    EXPECT_EQ(split(as_byte_view("abc"), stride).text(), "abc");
    EXPECT_EQ(join(as_byte_view("abc"), stride).text(), "abc");
  }
}

TEST(BytePlanes, AStrideLongerThanTheBytesChangesNothing) {
  EXPECT_EQ(split(as_byte_view("abc"), 4).text(), "abc");
  EXPECT_EQ(split(as_byte_view("abc"), ~std::size_t{0}).text(), "abc");
  EXPECT_EQ(split({}, 4).size(), 0u);
}

// Where the wide code and its tail meet.
TEST(BytePlanes, EveryByteLandsInItsPlaneForEverySize) {
  const Bytes all = test::noise(700);
  for (const std::size_t stride : {2, 3, 4, 5, 8, 16}) {
    for (std::size_t size = 0; size <= all.size(); ++size) {
      const ByteView in = all.view().first(size);
      const Bytes out = split(in, stride);
      const std::size_t count = size / stride;
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t place = i < count * stride ? i % stride * count + i / stride : i;
        ASSERT_EQ(out.view()[place], in[i]) << stride << ' ' << size << ' ' << i;
      }
      ASSERT_TRUE(equal(join(out, stride), in));
    }
  }
}

// Longer than the blocks the wide code works in.
TEST(BytePlanes, LargeBuffersComeBack) {
  const Bytes in = test::noise(20'011);
  for (const std::size_t stride : {2, 4, 8}) {
    const Bytes planes = split(in, stride);
    const std::size_t count = in.size() / stride;
    for (std::size_t i = 0; i < count * stride; ++i) {
      ASSERT_EQ(planes.view()[i % stride * count + i / stride], in.view()[i]) << stride << ' ' << i;
    }
    EXPECT_EQ(join(planes, stride), in);
  }
}

RC_GTEST_PROP(BytePlanes, JoiningUndoesSplitting, (const std::string& text, std::uint8_t stride)) {
  RC_ASSERT(join(split(as_byte_view(text), stride), stride).text() == text);
}

}  // namespace
}  // namespace varve
