#include "codec/utf8.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

TEST(Utf8, EveryScalarComesBackAndNothingElseIsOne) {
  for (char32_t c = 0; c <= 0x110010; ++c) {
    const bool expected = c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
    ASSERT_EQ(is_unicode_scalar(c), expected) << std::uint32_t(c);
    if (!expected) continue;
    std::string text;
    append_utf8(text, c);
    const DecodedCharacter back = decode_utf8(text);
    ASSERT_EQ(back.character, c);
    ASSERT_EQ(back.size, text.size());
    ASSERT_TRUE(is_utf8(text));
    ASSERT_FALSE(text.size() > 1 && is_utf8(text.substr(0, text.size() - 1)));
  }
}

TEST(Utf8, OverlongSurrogateAndStrayBytesAreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view bad :
       {"\x80"sv, "\xbf"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xf0\x8f\xbf\xbf"sv,
        "\xed\xa0\x80"sv, "\xed\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf8\x88\x80\x80\x80"sv,
        "\xff"sv, "\xc3"sv, "\xe2\x82"sv, "\xc3\x28"sv}) {
    EXPECT_FALSE(is_utf8(bad));
    // In the middle of eight bytes at a time, too.
    EXPECT_FALSE(is_utf8("0123456789" + std::string(bad) + "0123456789"));
  }
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("0123456\0 caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8d 0123456789"sv));
}

}  // namespace
}  // namespace varve
