// Keys in their order: which ones a range shows.
#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

using Names = std::vector<std::string>;

// Text with bytes of 0 in it.
template <std::size_t kSize>
std::string raw(const char (&text)[kSize]) {
  return std::string(text, kSize - 1);
}

TEST_P(BackendContract, ARangeShowsEverythingInTheOrderOfUnsignedBytes) {
  const Names expected{raw("\0"), raw("\0\0"), "\x01", "a",    raw("a\0"), raw("a\0b"), "ab",
                       "a\xff",   "b",         "\x7f", "\x80", "\xff",     "\xff\xff"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // Neither rising nor falling.
    must({{expected[i * 5 % expected.size()], "x"}});
  }
  EXPECT_EQ(names({}), expected);
}

TEST_P(BackendContract, AnEmptyRangeIsAnEmptyPage) {
  const auto expect_nothing = [&](const RangeQuery& query) {
    const auto page = backend().range(query);
    ASSERT_TRUE(page) << page.error().message();
    EXPECT_TRUE(page->entries.empty());
    EXPECT_EQ(page->next, std::nullopt);
  };
  expect_nothing({});
  must({{"b", "x"}, {"d", "x"}});
  expect_nothing({.prefix = at("c")});
  expect_nothing({.prefix = at("bb")});
  expect_nothing({.from = at("e")});
  expect_nothing({.to = at("b")});
  expect_nothing({.to = Bytes()});
  expect_nothing({.from = at("c"), .to = at("d")});
  expect_nothing({.from = at("d"), .to = at("b")});
  expect_nothing({.from = at("b"), .to = at("b")});
  expect_nothing({.prefix = at("b"), .from = at("c")});
  expect_nothing({.prefix = at("d"), .to = at("c")});
}

TEST_P(BackendContract, FromIsShownAndToIsNot) {
  must({{"a", "x"}, {"b", "x"}, {"c", "x"}, {"d", "x"}});
  EXPECT_EQ(names({.from = at("b")}), (Names{"b", "c", "d"}));
  EXPECT_EQ(names({.to = at("c")}), (Names{"a", "b"}));
  EXPECT_EQ(names({.from = at("b"), .to = at("d")}), (Names{"b", "c"}));
  EXPECT_EQ(names({.from = at("aa"), .to = at("cc")}), (Names{"b", "c"}));
  EXPECT_EQ(names({.from = at(raw("b\0")), .to = at(raw("c\0"))}), (Names{"c"}));
  EXPECT_EQ(names({.from = at(""), .to = at("z")}), (Names{"a", "b", "c", "d"}));
}

TEST_P(BackendContract, APrefixShowsWhatBeginsWithIt) {
  must({{"a", "x"},
        {"ab", "x"},
        {raw("ab\0"), "x"},
        {"abc", "x"},
        {"ab\xff", "x"},
        {"ac", "x"},
        {"b", "x"}});
  EXPECT_EQ(names({.prefix = at("ab")}), (Names{"ab", raw("ab\0"), "abc", "ab\xff"}));
  EXPECT_EQ(names({.prefix = at("a")}).size(), 6u);
  EXPECT_EQ(names({.prefix = at("abc")}), (Names{"abc"}));
  EXPECT_EQ(names({.prefix = at("ab"), .from = at("abc")}), (Names{"abc", "ab\xff"}));
  EXPECT_EQ(names({.prefix = at("ab"), .to = at("abc")}), (Names{"ab", raw("ab\0")}));
  EXPECT_EQ(names({.prefix = at("ab"), .from = at("a"), .to = at("b")}).size(), 4u);
  EXPECT_EQ(names({.prefix = at("b"), .from = at("a")}), (Names{"b"}));
}

TEST_P(BackendContract, APrefixMayEndInTheHighestByte) {
  must({{"a", "x"},
        {"a\xff", "x"},
        {"a\xff\x01", "x"},
        {"b", "x"},
        {"\xff", "x"},
        {"\xff\xff", "x"},
        {"\xff\xff\x01", "x"}});
  EXPECT_EQ(names({.prefix = at("a\xff")}), (Names{"a\xff", "a\xff\x01"}));
  EXPECT_EQ(names({.prefix = at("\xff")}), (Names{"\xff", "\xff\xff", "\xff\xff\x01"}));
  EXPECT_EQ(names({.prefix = at("\xff\xff")}), (Names{"\xff\xff", "\xff\xff\x01"}));
  EXPECT_EQ(names({.prefix = at("\xff\xff\xff")}), Names());
}

TEST_P(BackendContract, ARangeFollowsWhatIsWritten) {
  must({{"b", "x"}, {"d", "x"}});
  EXPECT_EQ(names({}), (Names{"b", "d"}));
  must({{"a", "x"}, {"c", "x"}, {"d", std::nullopt}});
  EXPECT_EQ(names({}), (Names{"a", "b", "c"}));
  must({{"b", std::nullopt}, {"e", "x"}});
  EXPECT_EQ(names({}), (Names{"a", "c", "e"}));
}

TEST_P(BackendContract, BoundsMayBeLongerThanAnyKey) {
  const std::string longest(traits().key_size_max, '\xff');
  WriteBatch batch;
  batch.put(as_byte_view(longest), Bytes::copy_of("last"));
  must(batch);
  const Bytes behind = Bytes::copy_of(longest + '\0');
  EXPECT_TRUE(walk(backend(), {.from = behind}).empty());
  EXPECT_EQ(walk(backend(), {.to = behind}).size(), 1u);
  EXPECT_TRUE(walk(backend(), {.prefix = behind}).empty());
  // Where a page that is full at the longest key goes on.
  EXPECT_EQ(walk(backend(), {.count_max = 1}).size(), 1u);
}

TEST_P(BackendContract, OfValuesTheirFirstBytesAreShown) {
  must({{"a", ""}, {"b", "xy"}, {"c", std::string(30, 'z')}});
  for (const bool held : {false, true}) {
    const auto snapshot = backend().snapshot();
    const ReadView& view = held ? **snapshot : static_cast<const ReadView&>(backend());
    const auto heads = view.range({.raw_size_max = 3});
    ASSERT_TRUE(heads) << heads.error().message();
    ASSERT_EQ(heads->entries.size(), 3u);
    EXPECT_EQ(heads->entries[0].value->text(), "");
    EXPECT_EQ(heads->entries[1].value->text(), "xy");
    EXPECT_EQ(heads->entries[2].value->text(), "zzz");
    EXPECT_EQ(heads->entries[2].value_size, 30u) << "of the whole value";
    const auto whole = view.range({.prefix = at("c"), .raw_size_max = 1 << 20});
    EXPECT_EQ(whole->entries.at(0).value->text(), std::string(30, 'z'));
    const auto none = view.range({.values = false, .raw_size_max = 3});
    EXPECT_TRUE(none->entries.at(2).value->empty());
    // What is not shown does not count for the end of a page.
    EXPECT_EQ(view.range({.size_max = 6, .raw_size_max = 3})->entries.size(), 3u);
  }
}

}  // namespace
}  // namespace varve::test
