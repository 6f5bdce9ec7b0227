// Snapshots: what was there, held.
#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

TEST_P(BackendContract, ASnapshotStaysAsItWas) {
  const std::uint64_t then = must({{"a", "one"}, {"b", "two"}, {"c", "three"}});
  const auto held = backend().snapshot().value();
  must({{"a", "changed"}, {"b", std::nullopt}, {"d", "new"}});
  for (int i = 0; i < 100; ++i) {
    must({{"a", std::string(80, 'x')}, {"c", std::to_string(i)}, {"e" + std::to_string(i), "y"}});
  }
  EXPECT_EQ(held->sequence(), then);
  EXPECT_EQ(contents_of(*held), contents({{"a", "one"}, {"b", "two"}, {"c", "three"}}));
  EXPECT_EQ(text_at(*held, "a"), "one");
  EXPECT_EQ(text_at(*held, "d"), "(none)");
  const auto results = held->multi_get({at("d"), at("b"), at("a")});
  EXPECT_EQ(text_of(results.at(0)), "(none)");
  EXPECT_EQ(text_of(results.at(1)), "two");
  EXPECT_EQ(text_of(results.at(2)), "one");
  EXPECT_EQ(text_at("b"), "(none)");
  EXPECT_EQ(backend().stats().entry_count, 103u);
}

TEST_P(BackendContract, ASnapshotOfNothingShowsNothing) {
  const auto held = backend().snapshot().value();
  must({{"a", "one"}});
  EXPECT_EQ(held->sequence(), 0u);
  EXPECT_EQ(contents_of(*held), Contents());
  EXPECT_EQ(text_at(*held, "a"), "(none)");
}

TEST_P(BackendContract, ASnapshotRefusesWhatTheBackendRefuses) {
  must({{"a", "one"}});
  const auto held = backend().snapshot().value();
  const Bytes too_long = Bytes::copy_of(std::string(traits().key_size_max + 1, 'k'));
  expect_invalid(held->get(ByteView()));
  expect_invalid(held->get(too_long));
  const auto results = held->multi_get({too_long, at("a")});
  ASSERT_EQ(results.size(), 2u);
  expect_invalid(results[0]);
  EXPECT_EQ(text_of(results[1]), "one");
  expect_invalid(held->range({.count_max = 0}));
}

// In which order the snapshots of five moments are let go.
TEST_P(BackendContract, SnapshotsAreLetGoInAnyOrder) {
  const std::vector<std::vector<std::size_t>> orders{
      {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}};
  for (const auto& order : orders) {
    std::vector<std::unique_ptr<ReadView>> held;
    std::vector<Contents> expected;
    for (int i = 0; i < 5; ++i) {
      must({{"same", std::to_string(i)},
            {"put " + std::to_string(i), "x"},
            {"put " + std::to_string(i - 2), std::nullopt}});
      held.push_back(backend().snapshot().value());
      expected.push_back(contents_of(backend()));
    }
    for (const std::size_t index : order) {
      held[index].reset();
      must({{"same", "later"}, {"put 1", std::string(90, 'y')}, {"put 4", std::nullopt}});
      for (std::size_t i = 0; i < held.size(); ++i) {
        if (held[i] != nullptr) {
          EXPECT_EQ(contents_of(*held[i]), expected[i]);
        }
      }
    }
    EXPECT_EQ(text_at("same"), "later");
  }
}

TEST_P(BackendContract, TwoSnapshotsOfOneMomentAreTheSame) {
  must({{"a", "one"}});
  auto first = backend().snapshot().value();
  const auto second = backend().snapshot().value();
  must({{"a", "two"}});
  EXPECT_EQ(first->sequence(), second->sequence());
  EXPECT_EQ(contents_of(*first), contents_of(*second));
  first.reset();
  must({{"a", "three"}});
  EXPECT_EQ(text_at(*second, "a"), "one");
}

// What is there now and was not then fills whole looks at the index; what was there and is not
// any more lies behind them.
TEST_P(BackendContract, ASnapshotShowsWhatWasErasedBehindWhatIsNew) {
  must({{"cc", "erased"}, {"d", "kept"}});
  const auto held = backend().snapshot().value();
  must({{"a", "new"}, {"b", "new"}, {"c", "new"}, {"cc", std::nullopt}});
  for (std::size_t count_max = 1; count_max <= 4; ++count_max) {
    const auto entries = walk(*held, {.count_max = count_max});
    ASSERT_EQ(entries.size(), 2u) << "pages of " << count_max;
    EXPECT_EQ(entries[0].value.value().text(), "erased");
    EXPECT_EQ(entries[1].value.value().text(), "kept");
  }
}

TEST_P(BackendContract, PagesOfASnapshotAreOfOneMoment) {
  for (int i = 10; i < 30; ++i) must({{std::to_string(i), "old"}});
  const auto held = backend().snapshot().value();
  RangeQuery query{.count_max = 3};
  std::size_t count = 0;
  for (int i = 10;; ++i) {
    const auto page = held->range(query).value();
    count += page.entries.size();
    for (const RangeEntry& entry : page.entries) EXPECT_EQ(entry.value.value().text(), "old");
    if (!page.next) break;
    query.from = *page.next;
    must({{std::to_string(40 - i), std::nullopt}, {std::to_string(i) + "5", "new"}});
  }
  EXPECT_EQ(count, 20u);
}

}  // namespace
}  // namespace varve::test
