// Looking keys up, one by one and many at once.
#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

TEST_P(BackendContract, WhatIsNotThereIsMissingAndNoError) {
  EXPECT_EQ(text_at("a"), "(none)");
  must({{"b", "x"}});
  EXPECT_EQ(text_at("a"), "(none)");
  EXPECT_EQ(text_at("c"), "(none)");
  EXPECT_EQ(text_at("b\0"), "x");
  EXPECT_EQ(text_at(std::string_view("b\0", 2)), "(none)");
  EXPECT_EQ(text_at("bb"), "(none)");
}

TEST_P(BackendContract, KeysAndValuesMayHaveAnyBytes) {
  std::string every;
  for (int i = 0; i < 256; ++i) every.push_back(static_cast<char>(i));
  for (std::size_t i = 0; i < every.size(); i += 16) {
    must({{every.substr(i, 16), every.substr(255 - i, 1) + every.substr(i, 16)}});
  }
  for (int i = 0; i < 256; ++i) {
    must({{every.substr(static_cast<std::size_t>(i), 1), every.substr(0, 50)}});
  }
  for (std::size_t i = 0; i < every.size(); i += 16) {
    EXPECT_EQ(text_at(every.substr(i, 16)), every.substr(255 - i, 1) + every.substr(i, 16));
  }
  EXPECT_EQ(text_at(std::string_view("\0", 1)), every.substr(0, 50));
  EXPECT_EQ(text_at("\xff"), every.substr(0, 50));
  EXPECT_EQ(backend().stats().entry_count, 256u + 16u);
}

TEST_P(BackendContract, ManyKeysAreReadInTheOrderTheyWereAskedFor) {
  must({{"a", "one"}, {"b", "two"}, {"c", ""}});
  const auto results =
      backend().multi_get({at("c"), at("none"), at("b"), at("a"), at("b"), at("none")});
  std::vector<std::string> texts;
  for (const auto& result : results) texts.push_back(text_of(result));
  EXPECT_EQ(texts, (std::vector<std::string>{"", "(none)", "two", "one", "two", "(none)"}));
  EXPECT_TRUE(backend().multi_get({}).empty());
}

TEST_P(BackendContract, ABadKeyIsRefusedByItselfAlone) {
  must({{"a", "one"}});
  const Bytes too_long = Bytes::copy_of(std::string(traits().key_size_max + 1, 'k'));
  const std::string limit = std::to_string(traits().key_size_max);
  expect_invalid(backend().get(ByteView()), {"0 bytes", limit});
  expect_invalid(backend().get(too_long), {"kkkk", limit});

  const auto results = backend().multi_get({at("a"), Bytes(), at("none"), too_long, at("a")});
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(text_of(results[0]), "one");
  expect_invalid(results[1]);
  EXPECT_EQ(text_of(results[2]), "(none)");
  expect_invalid(results[3], {"kkkk", limit});
  EXPECT_EQ(text_of(results[4]), "one");
}

TEST_P(BackendContract, AValueStaysReadableWhateverBecomesOfItsKey) {
  must({{"a", "the first value"}, {"b", "the second value"}});
  const Bytes first = backend().get(at("a")).value().value();
  const Bytes second = *walk(backend(), {.from = at("b")}).front().value;
  must({{"a", "another value"}, {"b", std::nullopt}});
  for (int i = 0; i < 50; ++i) must({{"c", std::string(90, 'x')}, {"a", std::to_string(i)}});
  EXPECT_EQ(first.text(), "the first value");
  EXPECT_EQ(second.text(), "the second value");
  reopen();
  EXPECT_EQ(first.text(), "the first value");
  EXPECT_EQ(second.text(), "the second value");
}

}  // namespace
}  // namespace varve::test
