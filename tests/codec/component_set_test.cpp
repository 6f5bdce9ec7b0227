#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "damage.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/format_page.h"
#include "varve/components.h"

namespace varve {
namespace {

using test::hex;
using test::to_hex;

ComponentSet sample() {
  ComponentSet set;
  set.put(1, hex("aabb"));
  set.put(300, Bytes::copy_of("stone"));
  set.put(7, {});
  return set;
}

void expect_corruption(std::string_view digits, std::string_view why) {
  const auto set = ComponentSet::decode(hex(digits));
  ASSERT_FALSE(set.ok()) << digits;
  EXPECT_EQ(set.error().code(), ErrorCode::corruption);
  EXPECT_NE(set.error().message().find(why), std::string::npos) << set.error().message();
}

TEST(ComponentSet, TheWorkedExample) {
  const std::string bytes = "01 03 01 02 aabb 07 00 ac02 05 73746f6e65";
  EXPECT_EQ(to_hex(*sample().encode()), to_hex(hex(bytes)));
  EXPECT_EQ(*ComponentSet::decode(hex(bytes)), sample());
  EXPECT_EQ(to_hex(*ComponentSet().encode()), "0100");
  EXPECT_TRUE(ComponentSet::decode(hex("0100"))->empty());
}

TEST(ComponentSet, TheExampleOfItsPage) {
  const Bytes example = test::example_of("components_v1.md", "A set");
  EXPECT_EQ(to_hex(*sample().encode()), to_hex(example));
  EXPECT_EQ(*ComponentSet::decode(example), sample());
}

TEST(ComponentSet, FindsReplacesAndErases) {
  ComponentSet set = sample();
  ASSERT_NE(set.find(7), nullptr);
  EXPECT_TRUE(set.find(7)->empty()) << "empty, not missing";
  EXPECT_EQ(set.find(8), nullptr);
  set.put(7, hex("01"));
  EXPECT_EQ(*set.find(7), hex("01"));
  EXPECT_TRUE(set.erase(7));
  EXPECT_FALSE(set.erase(7));
  EXPECT_EQ(set.count(), 2u);
}

TEST(ComponentSet, MergingKeepsWhatIsThere) {
  ComponentSet set;
  set.put(1, hex("ff"));
  set.merge(sample());
  EXPECT_EQ(*set.find(1), hex("ff"));
  EXPECT_EQ(set.find(300)->text(), "stone");
}

TEST(ComponentSet, DecodedValuesShareTheInput) {
  const Bytes data = *sample().encode();
  const ComponentSet set = *ComponentSet::decode(data);
  EXPECT_EQ(set.find(300)->data(), data.data() + data.size() - 5);
  EXPECT_EQ(data.owner_count(), 4);
}

RC_GTEST_PROP(ComponentSet, WhatIsEncodedIsDecoded,
              (const std::map<std::uint32_t, std::string>& values)) {
  ComponentSet set;
  for (const auto& [id, value] : values) {
    if (id != 0) set.put(id, Bytes::copy_of(value));
  }
  const Bytes data = set.encode().value();
  const ComponentSet back = ComponentSet::decode(data).value();
  RC_ASSERT(back == set);
  RC_ASSERT(back.encode().value() == data);
}

TEST(ComponentSet, EveryRuleOfTheFormatIsChecked) {
  expect_corruption("", "short read");
  expect_corruption("00 00", "version 0");
  expect_corruption("02 00", "version 2");
  expect_corruption("01 01 00 00", "do not rise");
  expect_corruption("01 02 02 00 01 00", "do not rise");
  expect_corruption("01 02 02 00 02 00", "do not rise");
  expect_corruption("01 01 8080808010 00", "varint above its limit");
  expect_corruption("01 01 01 02 aa", "short read");
  expect_corruption("01 01 01 8180808004 aa", "varint above its limit");
  expect_corruption("01 02 01 00", "count larger");
  expect_corruption("01 ffffffff03 01 00", "count larger");
  expect_corruption("01 00 00", "unexpected bytes after the end");
  expect_corruption("01 01 01 00 00", "unexpected bytes after the end");
}

TEST(ComponentSet, EachSetHasOneSpelling) {
  expect_corruption("01 8000", "longer than needed");
  expect_corruption("01 01 8100 00", "longer than needed");
  expect_corruption("01 01 01 8000", "longer than needed");
}

TEST(ComponentSet, EveryTruncationIsCorruption) {
  test::for_every_prefix(*sample().encode(), [](const Bytes& cut) {
    const auto set = ComponentSet::decode(cut);
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.error().code(), ErrorCode::corruption);
  });
}

TEST(ComponentSet, ABitFlipIsAnErrorOrAnotherSet) {
  test::for_every_bit_flip(*sample().encode(), [](const Bytes& flipped) {
    const test::AllocationWatch watch;
    const auto set = ComponentSet::decode(flipped);
    EXPECT_TRUE(!set.ok() || *set->encode() == flipped);
    EXPECT_LE(watch.peak_size(), 4096u);
  });
}

TEST(ComponentSet, ASetLargerThanARecordIsRefusedBeforeItIsCopied) {
  const Bytes large = Bytes::copy_of(std::string(1 << 20, 'x'));
  ComponentSet set;
  for (ComponentId id = 1; id <= 1024; ++id) set.put(id, large);
  const test::AllocationWatch watch;
  const auto data = set.encode();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code(), ErrorCode::invalid_argument);
  EXPECT_LE(watch.peak_size(), 4096u);
}

TEST(ComponentSet, IdZeroIsRefused) {
  ComponentSet set;
  set.put(0, hex("01"));
  const auto data = set.encode();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace varve
