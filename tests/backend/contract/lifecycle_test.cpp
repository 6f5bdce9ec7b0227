// Closing, opening again, and ending without a word.
#include <algorithm>

#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

TEST_P(BackendContract, TraitsAreSane) {
  EXPECT_FALSE(traits().name.empty());
  EXPECT_GE(traits().key_size_max, 40u);
  EXPECT_LE(traits().key_size_max, 255u);
  EXPECT_GE(traits().value_size_max, 100u);
  EXPECT_GE(traits().batch_size_max, traits().value_size_max + traits().key_size_max);
  EXPECT_EQ(traits().atomic_scope == AtomicScope::prefix, traits().atomic_prefix_size > 0);
  EXPECT_EQ(traits().durable, subject().persists());
}

TEST_P(BackendContract, OpenedAgainItShowsTheSame) {
  must({{"a", "one"}, {"b", "two"}, {"gone", "x"}, {"empty", ""}});
  const std::uint64_t sequence = must({{"a", "changed"}, {"gone", std::nullopt}});
  const Contents before = contents_of(backend());
  const BackendStats stats = backend().stats();
  reopen();
  if (!subject().persists()) {
    EXPECT_EQ(contents_of(backend()), Contents());
    EXPECT_EQ(backend().sequence(), 0u);
    return;
  }
  EXPECT_EQ(contents_of(backend()), before);
  EXPECT_EQ(backend().sequence(), sequence);
  EXPECT_EQ(backend().stats().entry_count, stats.entry_count);
  EXPECT_EQ(backend().stats().live_size, stats.live_size);
  EXPECT_EQ(backend().stats().durable_sequence, sequence);
  EXPECT_FALSE(backend().open_report().dropped_tail);
  EXPECT_TRUE(backend().open_report().problems.empty());
  EXPECT_GT(must({{"a", "after"}}), sequence);
  reopen();
  EXPECT_EQ(text_at("a"), "after");
  EXPECT_EQ(text_at("b"), "two");
}

TEST_P(BackendContract, OpenedAgainWithNothingInItIsEmpty) {
  reopen();
  EXPECT_EQ(contents_of(backend()), Contents());
  EXPECT_EQ(backend().sequence(), 0u);
  must({{"a", "one"}, {"b", "two"}});
  const std::uint64_t sequence = must({{"a", std::nullopt}, {"b", std::nullopt}});
  reopen();
  EXPECT_EQ(contents_of(backend()), Contents());
  EXPECT_EQ(backend().sequence(), subject().persists() ? sequence : 0u);
}

TEST_P(BackendContract, ACrashTakesFromTheEndAndNothingThatWasSynced) {
  constexpr std::size_t kCount = 10;
  constexpr std::size_t kSyncedCount = 4;
  std::vector<Contents> states{contents_of(backend())};
  std::vector<std::uint64_t> sequences{0};
  for (std::size_t i = 1; i <= kCount; ++i) {
    sequences.push_back(must({{"a", std::to_string(i)},
                              {"put " + std::to_string(i), std::to_string(i)},
                              {"put " + std::to_string(i - 3), std::nullopt}}));
    states.push_back(contents_of(backend()));
    if (i == kSyncedCount) {
      ASSERT_TRUE(backend().sync());
    }
  }
  crash_and_reopen();
  const Contents left = contents_of(backend());
  if (!subject().persists()) {
    EXPECT_EQ(left, Contents());
    return;
  }
  const auto state = std::find(states.begin(), states.end(), left);
  ASSERT_NE(state, states.end()) << "it is the state after no batch";
  const auto count = static_cast<std::size_t>(state - states.begin());
  EXPECT_GE(count, kSyncedCount);
  EXPECT_LE(kCount - count, subject().crash_loss_max());
  EXPECT_EQ(backend().sequence(), sequences[count]);
  EXPECT_TRUE(backend().open_report().problems.empty());
  EXPECT_GT(must({{"a", "after"}}), sequences[count]);
  reopen();
  EXPECT_EQ(text_at("a"), "after");
}

TEST_P(BackendContract, SyncMakesEverythingDurable) {
  EXPECT_TRUE(backend().sync());
  const std::uint64_t sequence = must({{"a", "one"}});
  EXPECT_TRUE(backend().sync());
  EXPECT_EQ(backend().stats().durable_sequence, traits().durable ? sequence : 0u);
  crash_and_reopen();
  EXPECT_EQ(text_at("a"), subject().persists() ? "one" : "(none)");
}

TEST_P(BackendContract, VerifyFindsNothingWrong) {
  EXPECT_TRUE(backend().verify().value().empty());
  must({{"a", "one"}, {"b", ""}});
  EXPECT_TRUE(backend().verify().value().empty());
  EXPECT_TRUE(backend().verify(VerifyScope::structure).value().empty());
  reopen();
  EXPECT_TRUE(backend().verify().value().empty());
  EXPECT_TRUE(backend().verify(VerifyScope::structure).value().empty());
}

TEST_P(BackendContract, RefreshingAWriterHasNoEffect) {
  must({{"a", "one"}});
  EXPECT_TRUE(backend().refresh());
  EXPECT_EQ(text_at("a"), "one");
}

TEST_P(BackendContract, AClosedBackendRefusesEverything) {
  must({{"a", "one"}});
  const Bytes key = at("a");
  ASSERT_TRUE(backend().close());
  const std::vector<std::string> words{"closed"};
  expect_invalid(backend().get(key), words);
  const auto results = backend().multi_get({key, key});
  ASSERT_EQ(results.size(), 2u);
  for (const auto& result : results) expect_invalid(result, words);
  expect_invalid(backend().range({}), words);
  WriteBatch batch;
  batch.put(key, Bytes::copy_of("two"));
  const WriteResult written = backend().write(batch);
  expect_invalid(written, words);
  EXPECT_EQ(written.outcome(), WriteOutcome::failed);
  expect_invalid(backend().write(WriteBatch()), words);
  expect_invalid(backend().sync(), words);
  expect_invalid(backend().snapshot(), words);
  expect_invalid(backend().refresh(), words);
  expect_invalid(backend().verify(), words);
  expect_invalid(backend().verify(VerifyScope::structure), words);
  EXPECT_EQ(backend().sequence(), 0u);
  EXPECT_EQ(backend().stats().entry_count, 0u);
  EXPECT_TRUE(backend().close()) << "closing twice is fine";
  reopen();
  EXPECT_EQ(text_at("a"), subject().persists() ? "one" : "(none)");
}

}  // namespace
}  // namespace varve::test
