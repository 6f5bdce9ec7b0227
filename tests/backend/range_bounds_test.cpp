#include "backend/range_bounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/bytes_text.h"

namespace varve {
namespace {

Bytes text(std::string_view text) { return Bytes::copy_of(text); }

std::string shown(const std::optional<Bytes>& bytes) {
  return bytes ? test::to_hex(*bytes) : "none";
}

TEST(RangeBounds, ThePrefixEndIsTheLowestKeyAboveThePrefix) {
  EXPECT_EQ(shown(prefix_end(ByteView())), "none");
  EXPECT_EQ(shown(prefix_end(test::hex("61"))), "62");
  EXPECT_EQ(shown(prefix_end(test::hex("6100"))), "6101");
  EXPECT_EQ(shown(prefix_end(test::hex("617f"))), "6180");
  EXPECT_EQ(shown(prefix_end(test::hex("61fe"))), "61ff");
  EXPECT_EQ(shown(prefix_end(test::hex("61ff"))), "62");
  EXPECT_EQ(shown(prefix_end(test::hex("61ffff"))), "62");
  EXPECT_EQ(shown(prefix_end(test::hex("ff"))), "none");
  EXPECT_EQ(shown(prefix_end(test::hex("ffffff"))), "none");
}

TEST(RangeBounds, WithoutAnythingThereAreNone) {
  const RangeBounds bounds = range_bounds({}).value();
  EXPECT_TRUE(bounds.first.empty());
  EXPECT_EQ(bounds.end, std::nullopt);
  EXPECT_FALSE(bounds.empty());
}

TEST(RangeBounds, AnEmptyEndIsBeforeEverything) {
  EXPECT_TRUE(range_bounds({.to = Bytes()}).value().empty());
  EXPECT_TRUE(range_bounds({.from = text("b"), .to = text("b")}).value().empty());
  EXPECT_TRUE(range_bounds({.from = text("c"), .to = text("b")}).value().empty());
  EXPECT_TRUE(range_bounds({.prefix = text("a"), .from = text("b")}).value().empty());
}

TEST(RangeBounds, PagesWithoutEntriesAreRefused) {
  const auto bounds = range_bounds({.count_max = 0});
  ASSERT_FALSE(bounds);
  EXPECT_EQ(bounds.error().code(), ErrorCode::invalid_argument);
}

// Invariant checked: a key is within the bounds if and only if the query's own words allow it.
RC_GTEST_PROP(RangeBounds, HoldWhatTheQuerySays, ()) {
  const auto any = [] {
    const auto byte = rc::gen::element('\0', 'a', '\xfe', '\xff');
    return *rc::gen::container<std::string>(*rc::gen::inRange<std::size_t>(0, 4), byte);
  };
  RangeQuery query{.prefix = text(any()), .from = text(any())};
  if (*rc::gen::arbitrary<bool>()) query.to = text(any());
  const RangeBounds bounds = range_bounds(query).value();
  for (int i = 0; i < 20; ++i) {
    const std::string key = any();
    const bool is_in = key.starts_with(query.prefix.text()) && key >= query.from.text() &&
                       (!query.to || key < query.to->text());
    RC_ASSERT((key >= bounds.first.text() && !bounds.is_past(as_byte_view(key))) == is_in);
    RC_ASSERT(!is_in || !bounds.empty());
  }
}

// A page of what the query leaves room for, of keys a, b, c with values of 10 bytes.
RangePage page_of(const RangeQuery& query) {
  RangePageBuilder page(query);
  for (const char* key : {"a", "b", "c"}) {
    if (!page.has_room()) break;
    page.add(text(key), 10, Bytes());
  }
  return std::move(page).take();
}

TEST(RangePageBuilder, APageEndsWithItsCountOrItsSize) {
  EXPECT_EQ(page_of({}).entries.size(), 3u);
  EXPECT_EQ(page_of({.count_max = 2}).entries.size(), 2u);
  EXPECT_EQ(page_of({.size_max = 0}).entries.size(), 1u);
  EXPECT_EQ(page_of({.size_max = 20}).entries.size(), 2u);
  EXPECT_EQ(page_of({.size_max = 21}).entries.size(), 3u);
  EXPECT_EQ(page_of({.size_max = 0, .values = false}).entries.size(), 3u);
}

TEST(RangePageBuilder, NextIsTheLastKeyWithAZeroWhereThereIsMore) {
  EXPECT_EQ(shown(page_of({.count_max = 2}).next), "6200");
  EXPECT_EQ(shown(page_of({.size_max = 1}).next), "6100");
  EXPECT_EQ(shown(page_of({.count_max = 3}).next), "none") << "the range was through";
  EXPECT_EQ(shown(page_of({}).next), "none");
  const RangeQuery query;
  EXPECT_EQ(shown(RangePageBuilder(query).take().next), "none");
}

TEST(RangePageBuilder, TheLongestKeyIsGoneOnFromAsWell) {
  const RangeQuery query{.count_max = 1};
  RangePageBuilder page(query);
  page.add(text(std::string(255, '\xff')), 1, Bytes());
  EXPECT_FALSE(page.has_room());
  EXPECT_EQ(std::move(page).take().next->size(), 256u);
}

}  // namespace
}  // namespace varve
