// Puts, erasures and batches of them.
#include <algorithm>
#include <string>

#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

TEST_P(BackendContract, ANewBackendIsEmpty) {
  EXPECT_EQ(backend().sequence(), 0u);
  EXPECT_EQ(contents_of(backend()), Contents());
  const BackendStats stats = backend().stats();
  EXPECT_EQ(stats.entry_count, 0u);
  EXPECT_EQ(stats.live_size, 0u);
  EXPECT_EQ(stats.sequence, 0u);
  EXPECT_EQ(stats.durable_sequence, 0u);
}

TEST_P(BackendContract, APutIsThereAndTheNextReplacesIt) {
  must({{"a", "one"}, {"b", "two"}});
  EXPECT_EQ(text_at("a"), "one");
  EXPECT_EQ(text_at("b"), "two");
  must({{"a", "a longer value than before"}});
  EXPECT_EQ(text_at("a"), "a longer value than before");
  must({{"a", "x"}});
  EXPECT_EQ(contents_of(backend()), contents({{"a", "x"}, {"b", "two"}}));
}

TEST_P(BackendContract, WhatIsErasedIsMissing) {
  must({{"a", "one"}, {"b", "two"}, {"c", "three"}});
  must({{"b", std::nullopt}});
  EXPECT_EQ(text_at("b"), "(none)");
  EXPECT_EQ(contents_of(backend()), contents({{"a", "one"}, {"c", "three"}}));
  must({{"b", "again"}});
  EXPECT_EQ(text_at("b"), "again");
  must({{"a", std::nullopt}, {"b", std::nullopt}, {"c", std::nullopt}});
  EXPECT_EQ(contents_of(backend()), Contents());
}

TEST_P(BackendContract, ErasingWhatIsNotThereIsNoError) {
  const std::uint64_t before = must({{"a", "one"}});
  const std::uint64_t after = must({{"b", std::nullopt}});
  EXPECT_GE(after, before);
  EXPECT_EQ(backend().sequence(), after);
  EXPECT_EQ(contents_of(backend()), contents({{"a", "one"}}));
}

TEST_P(BackendContract, AValueInTwoPiecesIsReadInOne) {
  const std::string head = "head ";
  // Four of them go into one batch.
  const std::uint64_t room = std::min(traits().value_size_max, traits().batch_size_max / 8);
  const std::string body(std::min<std::uint64_t>(5000, room - head.size()), 'b');
  const auto in_two = [](const std::string& first, const std::string& second) {
    return BatchValue(Bytes::copy_of(first), Bytes::copy_of(second));
  };
  WriteBatch batch;
  batch.put(at("in/1"), in_two(head, body));
  batch.put(at("in/2"), in_two(head, ""));
  batch.put(at("in/3"), in_two("", body));
  batch.put(at("in/4"), in_two("", ""));
  EXPECT_EQ(batch.size(), 4 * at("in/1").size() + 2 * (head.size() + body.size()));
  must(batch);
  const Contents expected =
      contents({{"in/1", head + body}, {"in/2", head}, {"in/3", body}, {"in/4", ""}});
  EXPECT_EQ(contents_of(backend()), expected);
  EXPECT_EQ(backend().stats().live_size, batch.size());
  if (!traits().durable) return;
  reopen();
  EXPECT_EQ(contents_of(backend()), expected);
}

// Whatever a backend makes of the hash: it is read, verified and opened like any other.
TEST_P(BackendContract, AValueWhoseBodyComesWithItsHashIsLikeAnyOther) {
  Contents expected;
  WriteBatch batch;
  for (const std::size_t head_size : {0, 15, 16, 17}) {
    for (const std::size_t body_size : {0, 1, 16, 60}) {
      const std::string key = "in/" + std::to_string(head_size) + "-" + std::to_string(body_size);
      const std::string head(head_size, 'h');
      const std::string body(body_size, 'b');
      batch.put(at(key), BatchValue(Bytes::copy_of(head), HashedBytes(Bytes::copy_of(body))));
      expected.merge(contents({{key, head + body}}));
    }
  }
  must(batch);
  EXPECT_EQ(contents_of(backend()), expected);
  if (!traits().durable) return;
  reopen();
  EXPECT_EQ(contents_of(backend()), expected);
  const auto problems = backend().verify();
  ASSERT_TRUE(problems.ok());
  EXPECT_TRUE(problems->empty());
}

TEST_P(BackendContract, AnEmptyValueIsNotMissing) {
  must({{"a", ""}});
  EXPECT_EQ(backend().get(at("a")).value(), Bytes());
  EXPECT_EQ(backend().get(at("b")).value(), std::nullopt);
  EXPECT_EQ(contents_of(backend()), contents({{"a", ""}}));
  must({{"a", "full"}});
  must({{"a", ""}});
  EXPECT_EQ(backend().get(at("a")).value(), Bytes());
}

TEST_P(BackendContract, OfTwoChangesForOneKeyTheLastCounts) {
  must({{"gone", "old"}});
  must({{"a", "first"},
        {"b", "x"},
        {"a", "last"},
        {"gone", "new"},
        {"gone", std::nullopt},
        {"there", std::nullopt},
        {"there", "put"}});
  EXPECT_EQ(contents_of(backend()), contents({{"a", "last"}, {"b", "x"}, {"there", "put"}}));
  EXPECT_EQ(backend().stats().entry_count, 3u);
}

TEST_P(BackendContract, AnEmptyBatchChangesNothing) {
  EXPECT_EQ(must(WriteBatch()), 0u);
  const std::uint64_t before = must({{"a", "one"}});
  EXPECT_EQ(must(WriteBatch()), before);
  EXPECT_EQ(backend().sequence(), before);
  EXPECT_EQ(contents_of(backend()), contents({{"a", "one"}}));
}

TEST_P(BackendContract, EachBatchHasAHigherNumberThanTheOneBefore) {
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    // As many erasures as puts, and a put of what is there already.
    const std::uint64_t sequence =
        i % 2 == 0 ? must({{"a", "same"}, {"b", "x"}}) : must({{"a", "same"}, {"b", std::nullopt}});
    EXPECT_GT(sequence, last);
    EXPECT_EQ(backend().sequence(), sequence);
    EXPECT_EQ(backend().stats().sequence, sequence);
    last = sequence;
  }
}

TEST_P(BackendContract, ARefusedBatchChangesNothing) {
  must({{"a", "one"}, {"b", "two"}});
  WriteBatch empty_key = batch({{"a", "changed"}, {"b", std::nullopt}, {"c", "new"}});
  empty_key.put(ByteView(), Bytes::copy_of("x"));
  expect_refused(empty_key, {"0 bytes"});

  const std::string long_key(traits().key_size_max + 1, 'k');
  const std::string limit = std::to_string(traits().key_size_max);
  WriteBatch put_long = batch({{"a", "changed"}, {"c", "new"}});
  put_long.put(as_byte_view(long_key), Bytes());
  expect_refused(put_long, {limit, "kkkk"});
  WriteBatch erase_long = batch({{"a", "changed"}, {"c", "new"}});
  erase_long.erase(as_byte_view(long_key));
  expect_refused(erase_long, {limit, "kkkk"});

  must({{"c", "afterwards"}});
  EXPECT_EQ(contents_of(backend()), contents({{"a", "one"}, {"b", "two"}, {"c", "afterwards"}}));
}

TEST_P(BackendContract, StatsCountWhatIsThere) {
  must({{"a", "one"}, {"bb", "two"}, {"c", ""}});
  must({{"a", "a longer value"}, {"c", std::nullopt}, {"none", std::nullopt}});
  const BackendStats stats = backend().stats();
  EXPECT_EQ(stats.entry_count, 2u);
  EXPECT_EQ(stats.live_size, at("a").size() + 14 + at("bb").size() + 3);
  EXPECT_GE(stats.stored_size, stats.live_size);
  EXPECT_LE(stats.durable_sequence, stats.sequence);
}

}  // namespace
}  // namespace varve::test
