#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "codec/ron.h"
#include "codec/utf8.h"
#include "support/golden.h"

namespace varve::ron {
namespace {

constexpr std::size_t kLimit = 1 << 20;

std::string compact(const Value& value) {
  const auto text = write_compact(value);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().message());
  return text.ok() ? *text : "";
}

std::string written(double value) { return compact(Value{Float{value}}); }

TEST(RonWriter, FloatsHaveAPointAndNoExponent) {
  EXPECT_EQ(written(0.0), "0.0");
  EXPECT_EQ(written(-0.0), "-0.0");
  EXPECT_EQ(written(1.0), "1.0");
  EXPECT_EQ(written(3600.0), "3600.0");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(-12.75), "-12.75");
  EXPECT_EQ(written(123456.789), "123456.789");
  EXPECT_EQ(written(1e-7), "0.0000001");
  EXPECT_EQ(written(1e23), "100000000000000000000000.0");
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(written(std::nan("")), "NaN");
  EXPECT_EQ(written(-std::nan("")), "NaN");
}

TEST(RonWriter, TheLargestAndSmallestFloatsComeBack) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {Limits::max(), Limits::min(), Limits::denorm_min(), Limits::epsilon(),
                             -Limits::max(), 9007199254740993.0, 5e-310}) {
    const auto back = parse(written(value), kLimit);
    ASSERT_TRUE(back.ok()) << written(value);
    EXPECT_EQ(*back, Value{Float{value}});
  }
}

RC_GTEST_PROP(RonWriter, EveryFloatComesBack, (std::uint64_t seed)) {
  // Generated integers are small, which as the bits of a double are subnormals.
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20; ++i) {
    const Value value{Float{std::bit_cast<double>(static_cast<std::uint64_t>(random()))}};
    const std::string text = compact(value);
    RC_ASSERT(text.find('e') == std::string::npos);
    RC_ASSERT(parse(text, kLimit).value() == value);
  }
}

TEST(RonWriter, IntegersOfTheWholeRange) {
  EXPECT_EQ(compact(Value{Integer::of(~std::uint64_t{0})}), "18446744073709551615");
  EXPECT_EQ(compact(Value{Integer::of_signed(INT64_MIN)}), "-9223372036854775808");
}

TEST(RonWriter, TextIsEscapedAsTheOriginalDoes) {
  EXPECT_EQ(compact(Value{std::string("a\"b'c\\\n\r\t\0\x01\x7f\xc3\xa9", 14)}),
            R"("a\"b\'c\\\n\r\t\0\u{1}\u{7f})"
            "\xc3\xa9\"");
  EXPECT_EQ(compact(Value{U'\''}), R"('\'')");
  EXPECT_EQ(compact(Value{U'"'}), "'\"'");
  EXPECT_EQ(compact(Value{U'\u0085'}), R"('\u{85}')");
}

Value point() {
  return Value{Record{
      "", {{"x", Value{Integer::of(0)}}, {"y", Value{Integer::of(100)}}, {"z", Value{Integer{}}}}}};
}

TEST(RonWriter, CompactStaysOnOneLine) {
  EXPECT_EQ(compact(point()), "(x: 0, y: 100, z: 0)");
  EXPECT_EQ(compact(Value{List{{Value{true}, Value{Unit{}}, Value{Unit{"Air"}}}}}),
            "[true, (), Air]");
  EXPECT_EQ(compact(Value{Map{{{Value{std::string("k")}, Value{Option{}}}}}}), "{\"k\": None}");
}

TEST(RonWriter, PrettyBreaksStructsAndListsButNotTuples) {
  const Value value{Record{
      "S",
      {{"p", point()},
       {"e", Value{List{}}},
       {"m", Value{Map{{{Value{Integer::of(1)}, Value{Tuple{"T", {point(), Value{false}}}}}}}}}}}};
  EXPECT_EQ(*write_pretty(value),
            "S(\n"
            "    p: (\n        x: 0,\n        y: 100,\n        z: 0,\n    ),\n"
            "    e: [],\n"
            "    m: {\n"
            "        1: T((\n"
            "            x: 0,\n            y: 100,\n            z: 0,\n"
            "        ), false),\n"
            "    },\n"
            ")");
}

TEST(RonWriter, NamesThatNeedItAreRaw) {
  EXPECT_EQ(compact(Value{Unit{"true"}}), "r#true");
  EXPECT_EQ(compact(Value{Unit{"a.b-c"}}), "r#a.b-c");
  EXPECT_EQ(compact(Value{Unit{"1a"}}), "r#1a");
}

TEST(RonWriter, WhatRonCannotSpellIsRefused) {
  Value deep;
  for (int i = 0; i < kDepthMax; ++i) deep = Value{List{{deep}}};
  for (const Value& value :
       {Value{Unit{"a b"}}, Value{Record{"", {{"", Value{}}}}}, Value{std::string("\xff")},
        Value{char32_t{0xd800}}, Value{char32_t{0x110000}}, deep,
        // What the parser would refuse, or read as less than was given.
        Value{Record{"P", {{"x", Value{}}, {"y", Value{}}, {"x", Value{}}}}},
        Value{Integer{~std::uint64_t{0}, true}}, Value{Integer{(std::uint64_t{1} << 63) + 1, true}},
        Value{Integer{0, true}}, Value{Option{{Value{true}, Value{false}}}}}) {
    const auto text = write_pretty(value);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code(), ErrorCode::invalid_argument);
  }
}

std::string any_text() {
  std::string out;
  for (const std::uint32_t c : *rc::gen::container<std::vector<std::uint32_t>>(
           rc::gen::inRange<std::uint32_t>(0, 0x3000))) {
    append_utf8(out, c);
  }
  return out;
}

std::string any_name() {
  return *rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("abzAZ_019.+-"))));
}

std::vector<Value> any_values(int depth);

Value any_value(int depth) {
  switch (*rc::gen::inRange(0, depth == 0 ? 6 : 11)) {
    case 0:
      return Value{Unit{*rc::gen::arbitrary<bool>() ? any_name() : ""}};
    case 1:
      return Value{*rc::gen::arbitrary<bool>()};
    case 2:
      return Value{Integer::of_signed(*rc::gen::arbitrary<std::int64_t>())};
    case 3:
      return Value{Float{*rc::gen::arbitrary<double>()}};
    case 4:
      return Value{static_cast<char32_t>(*rc::gen::inRange(0, 0xd800))};
    case 5:
      return Value{any_text()};
    case 6:
      return Value{Option{*rc::gen::arbitrary<bool>() ? std::vector<Value>{any_value(depth - 1)}
                                                      : std::vector<Value>{}}};
    case 7:
      return Value{List{any_values(depth)}};
    case 8: {
      Map map;
      for (Value& key : any_values(depth)) map.entries.push_back({std::move(key), any_value(0)});
      return Value{std::move(map)};
    }
    case 9:
      return Value{Tuple{any_name(), any_values(depth)}};
    default: {
      Record record{*rc::gen::arbitrary<bool>() ? any_name() : "", {{"first", any_value(0)}}};
      for (Value& value : any_values(depth)) {
        std::string name("f");
        name += std::to_string(record.fields.size());
        record.fields.push_back({std::move(name), std::move(value)});
      }
      return Value{std::move(record)};
    }
  }
}

std::vector<Value> any_values(int depth) {
  std::vector<Value> out;
  for (int count = *rc::gen::inRange(0, 4); count > 0; --count) out.push_back(any_value(depth - 1));
  return out;
}

RC_GTEST_PROP(RonWriter, EveryValueComesBack, ()) {
  const Value value = any_value(4);
  for (const auto& text : {write_pretty(value), write_compact(value)}) {
    RC_ASSERT(text.has_value());
    const auto back = parse(*text, kLimit);
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == value);
  }
}

TEST(RonWriter, FilesOfTheOriginalVoxelGameByteForByte) {
  for (const char* name : {"golden/nebula/world.ron", "golden/nebula/sample.scene.ron"}) {
    SCOPED_TRACE(name);
    VARVE_SHARED_OR_SKIP(in, name);
    const auto value = parse(in.text(), kLimit);
    ASSERT_TRUE(value.ok()) << value.error().message();
    const auto text = write_pretty(*value);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, in.text());
  }
}

}  // namespace
}  // namespace varve::ron
