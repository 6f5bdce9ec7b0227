// Ranges that are more than a page, and what a page shows of each entry.
#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

std::string numbered(int number) { return "key " + std::to_string(100 + number); }

TEST_P(BackendContract, PagesGoOnWhereTheLastOneEnded) {
  for (int i = 0; i < 50; ++i) must({{numbered(i), std::to_string(i)}});
  for (const std::size_t count_max : {1u, 2u, 7u, 49u, 50u, 51u}) {
    const auto entries = walk(backend(), {.count_max = count_max});
    ASSERT_EQ(entries.size(), 50u) << count_max;
    for (int i = 0; i < 50; ++i) {
      const RangeEntry& entry = entries[static_cast<std::size_t>(i)];
      EXPECT_EQ(entry.key, at(numbered(i)));
      EXPECT_EQ(entry.value.value().text(), std::to_string(i));
    }
  }
  EXPECT_EQ(walk(backend(), {.prefix = at("key 12"), .count_max = 3}).size(), 10u);
  EXPECT_EQ(
      walk(backend(), {.from = at(numbered(20)), .to = at(numbered(30)), .count_max = 4}).size(),
      10u);
}

TEST_P(BackendContract, NextIsSetWhereAPageWasCutAndNotWhereTheRangeEnded) {
  for (int i = 0; i < 10; ++i) must({{numbered(i), "x"}});
  const auto cut = backend().range({.count_max = 4}).value();
  EXPECT_EQ(cut.entries.size(), 4u);
  ASSERT_TRUE(cut.next);
  EXPECT_GT(cut.next->text(), at(numbered(3)).text());
  EXPECT_LE(cut.next->text(), at(numbered(4)).text());
  EXPECT_FALSE(backend().range({.count_max = 11}).value().next);
  EXPECT_FALSE(backend().range({.to = at(numbered(3)), .count_max = 4}).value().next);
}

TEST_P(BackendContract, NextSkipsNothingThatBeginsWithTheLastKey) {
  must({{"a", "1"},
        {std::string_view("a\0", 2), "2"},
        {std::string_view("a\0\0", 3), "3"},
        {std::string_view("a\0\x01", 3), "4"},
        {"aa", "5"}});
  EXPECT_EQ(walk(backend(), {.count_max = 1}).size(), 5u);
}

TEST_P(BackendContract, NextStaysGoodWhenTheKeysAroundItGo) {
  for (int i = 0; i < 6; ++i) must({{numbered(i), "x"}});
  const auto page = backend().range({.count_max = 3}).value();
  must({{numbered(2), std::nullopt}, {numbered(3), std::nullopt}});
  const auto rest = walk(backend(), {.from = page.next.value()});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest.front().key, at(numbered(4)));
}

TEST_P(BackendContract, APageEndsBehindTheEntryWithWhichItsValuesReachTheSize) {
  const std::string ten(10, 'x');
  must({{"a", ten}, {"b", ten}, {"c", ""}, {"d", ten}, {"e", ten}});
  const auto count = [&](std::uint64_t size_max) {
    return backend().range({.size_max = size_max}).value().entries.size();
  };
  EXPECT_EQ(count(0), 1u) << "a page has at least one entry, else nobody gets on";
  EXPECT_EQ(count(1), 1u);
  EXPECT_EQ(count(10), 1u);
  EXPECT_EQ(count(11), 2u);
  EXPECT_EQ(count(20), 2u);
  EXPECT_EQ(count(21), 4u);
  EXPECT_EQ(count(40), 5u);
  for (const std::uint64_t size_max : {0u, 1u, 10u, 25u, 1000u}) {
    EXPECT_EQ(walk(backend(), {.size_max = size_max}).size(), 5u) << size_max;
  }
}

TEST_P(BackendContract, WithoutValuesThereAreSizesAlone) {
  must({{"a", "one"}, {"b", ""}, {"c", "three"}});
  const auto page = backend().range({.size_max = 1, .values = false}).value();
  ASSERT_EQ(page.entries.size(), 3u) << "there are no values whose size could count";
  for (const RangeEntry& entry : page.entries) EXPECT_EQ(entry.value.value(), Bytes());
  EXPECT_EQ(page.entries[0].value_size, 3u);
  EXPECT_EQ(page.entries[1].value_size, 0u);
  EXPECT_EQ(page.entries[2].value_size, 5u);
  EXPECT_EQ(walk(backend(), {.count_max = 1, .values = false}).size(), 3u);
}

TEST_P(BackendContract, PagesWithoutEntriesAreRefused) {
  must({{"a", "x"}});
  expect_invalid(backend().range({.count_max = 0}), {"count_max"});
  // Also where there is nothing to show.
  expect_invalid(backend().range({.to = Bytes(), .count_max = 0}), {"count_max"});
}

}  // namespace
}  // namespace varve::test
