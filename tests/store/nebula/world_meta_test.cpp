#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "codec/damage.h"
#include "support/allocation_watch.h"
#include "support/golden.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

void expect_refused(std::string_view text, ErrorCode code, std::string_view why) {
  const auto meta = decode_meta(text);
  ASSERT_FALSE(meta.ok()) << text;
  EXPECT_EQ(meta.error().code(), code) << text;
  EXPECT_TRUE(meta.error().message().starts_with("world.ron: ")) << meta.error().message();
  EXPECT_NE(meta.error().message().find(why), std::string::npos) << meta.error().message();
}

void expect_corruption(std::string_view text, std::string_view why) {
  expect_refused(text, ErrorCode::corruption, why);
}

// The worked example of docs/formats/nebula_v1.md.
constexpr std::string_view kExample = R"((
    save_version: 1,
    seed: 42,
    world_time: 3600.0,
    display_name: "Home",
    created_at: "2026-01-01T00:00:00Z",
    last_saved_at: "2026-01-01T01:00:00Z",
    play_time: 0.5,
    difficulty: Hard,
))";

WorldMeta example() {
  return {.seed = 42,
          .world_time = 3600,
          .display_name = "Home",
          .created_at = "2026-01-01T00:00:00Z",
          .last_saved_at = "2026-01-01T01:00:00Z",
          .play_time = 0.5,
          .other_fields = {{"difficulty", "Hard"}}};
}

TEST(WorldMeta, TheWorkedExample) {
  EXPECT_EQ(*decode_meta(kExample), example());
  EXPECT_EQ(*encode_meta(example()), kExample);
}

TEST(WorldMeta, TheOriginalIsWrittenByteForByte) {
  VARVE_SHARED_OR_SKIP(file, "golden/nebula/world.ron");
  const auto meta = decode_meta(file.text());
  ASSERT_TRUE(meta.ok()) << meta.error().message();
  EXPECT_EQ(*meta, (WorldMeta{.seed = 12345,
                              .world_time = 3600,
                              .display_name = "Test \"World\"\n\\ \xc3\xa9",
                              .created_at = "2026-01-01T00:00:00Z",
                              .last_saved_at = "2026-01-01T01:00:00Z",
                              .play_time = 0.1}));
  EXPECT_EQ(*encode_meta(*meta), file.text());
}

TEST(WorldMeta, EveryTruncationOfTheOriginalIsCorruption) {
  VARVE_SHARED_OR_SKIP(file, "golden/nebula/world.ron");
  test::for_every_prefix(file, [](const Bytes& cut) {
    EXPECT_EQ(decode_meta(cut.text()).error().code(), ErrorCode::corruption);
  });
}

// Either refused, or something that is written and read like any other.
TEST(WorldMeta, EveryBitFlipIsRefusedOrReadsAsSomeMeta) {
  test::for_every_bit_flip(as_byte_view(kExample), [](const Bytes& flipped) {
    const auto meta = decode_meta(flipped.text());
    if (!meta) return;
    const auto text = encode_meta(*meta);
    ASSERT_TRUE(text.ok()) << text.error().message();
    EXPECT_EQ(*decode_meta(*text), *meta);
  });
}

TEST(WorldMeta, FieldsMayBeMissingAndInAnyOrder) {
  EXPECT_EQ(*decode_meta("(save_version: 1)"), WorldMeta());
  const auto meta = decode_meta("WorldMeta(label: \"a\", seed: 42, n: [1,(2)], save_version: 1)");
  ASSERT_TRUE(meta.ok()) << meta.error().message();
  EXPECT_EQ(*meta,
            (WorldMeta{.seed = 42, .other_fields = {{"label", "\"a\""}, {"n", "[1, (2)]"}}}));
}

TEST(WorldMeta, NumbersOfTheWholeRange) {
  const auto meta = decode_meta(
      "(save_version: 1, seed: 18446744073709551615, world_time: inf, play_time: 3600)");
  ASSERT_TRUE(meta.ok()) << meta.error().message();
  EXPECT_EQ(meta->seed, ~std::uint64_t{0});
  EXPECT_EQ(meta->world_time, std::numeric_limits<double>::infinity());
  EXPECT_EQ(meta->play_time, 3600.0) << "an integer where a float was meant";
  EXPECT_EQ(*decode_meta(*encode_meta(*meta)), *meta);

  WorldMeta nan;
  nan.world_time = std::nan("");
  EXPECT_TRUE(std::isnan(decode_meta(*encode_meta(nan))->world_time));
}

TEST(WorldMeta, AWrongTypeNamesItsField) {
  expect_corruption("(save_version: 1, seed: -1)", "field seed: expected an integer from 0 to");
  expect_corruption("(save_version: 1, seed: 1.0)", "field seed: expected an integer");
  expect_corruption("(save_version: 1, seed: \"1\")", "field seed: expected an integer");
  expect_corruption("(save_version: 1, world_time: \"x\")", "field world_time: expected a number");
  expect_corruption("(save_version: 1, play_time: None)", "field play_time: expected a number");
  expect_corruption("(save_version: 1, display_name: 5)", "field display_name: expected a text");
  expect_corruption("(save_version: 1, created_at: Some(\"\"))", "field created_at: expected");
  expect_corruption("(save_version: 1, last_saved_at: 'c')", "field last_saved_at: expected");
  expect_corruption("(save_version: 4294967296)", "field save_version: expected an integer from");
  expect_corruption("(save_version: true)", "field save_version: expected an integer");
}

TEST(WorldMeta, WhatIsNoMetaIsCorruption) {
  expect_corruption("", "line 1");
  expect_corruption("()", "expected a struct WorldMeta");
  expect_corruption("[1]", "expected a struct WorldMeta");
  expect_corruption("SceneData(save_version: 1)", "expected a struct WorldMeta, found SceneData");
  expect_corruption("(seed: 1)", "field save_version is missing");
  expect_corruption("(save_version: 1, save_version: 1)", "stands twice");
  expect_corruption("(save_version: 1) x", "unexpected text");
  expect_corruption("(save_version: 1, display_name: \"\xff\")", "not UTF-8");
}

TEST(WorldMeta, OtherVersionsAreUnsupported) {
  expect_refused("(save_version: 2, seed: Whatever)", ErrorCode::unsupported, "save_version 2");
  expect_refused("(save_version: 4294967295)", ErrorCode::unsupported, "save_version 4294967295");
  expect_refused("(save_version: 0)", ErrorCode::unsupported, "save_version 0");
}

TEST(WorldMeta, WhatCouldNotBeReadBackIsNotWritten) {
  const auto refused = [](const WorldMeta& meta, std::string_view why) {
    const auto text = encode_meta(meta);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(text.error().message().find(why), std::string::npos) << text.error().message();
  };
  refused({.save_version = 2}, "save_version 2");
  refused({.save_version = 0}, "save_version 0");
  refused({.display_name = "\xff"}, "UTF-8");
  refused({.other_fields = {{"seed", "1"}}}, "field seed");
  refused({.other_fields = {{"a", "1"}, {"a", "2"}}}, "twice");
  refused({.other_fields = {{"", "1"}}}, "name");
  refused({.other_fields = {{"a b", "1"}}}, "name");
  refused({.other_fields = {{"a", "1, b: 2"}}}, "field a: ");
  refused({.other_fields = {{"a", ""}}}, "field a: ");
  refused({.other_fields = {{"a", std::string(128, '[') + std::string(128, ']')}}}, "deep");
}

TEST(WorldMeta, TakesABoundedMultipleOfItsText) {
  for (const std::string_view item : {"0,", "(0),", "{0:0},", "1e308,", "\"\","}) {
    std::string text = "(save_version: 1, a: [";
    while (text.size() < 20'000) text += item;
    text += "])";
    const test::AllocationWatch watch;
    EXPECT_TRUE(decode_meta(text).ok()) << item;
    EXPECT_LT(watch.peak_size(), text.size() * 256) << item;
  }
}

RC_GTEST_PROP(WorldMeta, RoundTrip,
              (std::uint64_t seed, double world_time, double play_time, std::uint32_t shift)) {
  WorldMeta meta{.seed = seed << shift % 64, .world_time = world_time, .play_time = play_time};
  for (std::string* text : {&meta.display_name, &meta.created_at, &meta.last_saved_at}) {
    for (const char c : *rc::gen::arbitrary<std::string>()) *text += static_cast<char>(c & 0x7f);
  }
  if (seed % 2 == 0) meta.other_fields = {{"r", "(x: [1, 2.5])"}, {"Some", "None"}};
  RC_ASSERT(decode_meta(encode_meta(meta).value()).value() == meta);
}

}  // namespace
}  // namespace varve::nebula
