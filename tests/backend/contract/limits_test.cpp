// What is just allowed, and what no longer is.
#include <algorithm>

#include "backend/contract/backend_contract.h"

namespace varve::test {
namespace {

// Limits above this are beyond what a test should write; a value of this size must do.
constexpr std::uint64_t kReachable = 1u << 20;

Bytes filled(std::uint64_t size, char with = 'x') {
  return Bytes::copy_of(std::string(static_cast<std::size_t>(size), with));
}

TEST_P(BackendContract, KeysHaveOneToSoManyBytes) {
  const std::string longest(traits().key_size_max, 'k');
  WriteBatch shortest;
  shortest.put(as_byte_view("k"), Bytes::copy_of("short"));
  must(shortest);
  WriteBatch most;
  most.put(as_byte_view(longest), Bytes::copy_of("long"));
  must(most);
  EXPECT_EQ(text_of(backend().get(as_byte_view("k"))), "short");
  EXPECT_EQ(text_of(backend().get(as_byte_view(longest))), "long");
  EXPECT_EQ(contents_of(backend()), (Contents{{"k", "short"}, {longest, "long"}}));
  reopen();
  WriteBatch gone;
  gone.erase(as_byte_view(longest));
  must(gone);
  EXPECT_EQ(text_of(backend().get(as_byte_view(longest))), "(none)");
}

TEST_P(BackendContract, AValueHasAtMostSoManyBytes) {
  const std::uint64_t limit = traits().value_size_max;
  const Bytes largest = filled(std::min(limit, kReachable));
  WriteBatch batch;
  batch.put(at("a"), largest);
  must(batch);
  EXPECT_EQ(backend().get(at("a")).value(), largest);
  if (limit <= kReachable) {
    WriteBatch more;
    more.put(at("b"), Bytes::copy_of("good"));
    more.put(at("too large"), filled(limit + 1));
    expect_refused(more, {"too large", std::to_string(limit + 1), std::to_string(limit)});
  }
  EXPECT_EQ(walk(backend(), {}).front().value.value(), largest);
}

TEST_P(BackendContract, ABatchHasAtMostSoManyBytes) {
  const std::uint64_t limit = traits().batch_size_max;
  const std::uint64_t wanted = std::min(limit, kReachable);
  const std::uint64_t value_size = std::min<std::uint64_t>(traits().value_size_max, 1000);
  const auto of_size = [&](std::uint64_t size) {
    WriteBatch batch;
    for (int i = 10'000; batch.size() < size; ++i) {
      const Bytes key = at(std::to_string(i));
      const std::uint64_t left = size - batch.size();
      std::uint64_t value = std::min(value_size, left - key.size());
      const std::uint64_t rest = left - key.size() - value;
      // What is left must do for another key, so that the batch ends exactly there.
      if (rest > 0 && rest < key.size()) value -= key.size();
      batch.put(key, filled(value, static_cast<char>('a' + i % 26)));
    }
    return batch;
  };
  const WriteBatch largest = of_size(wanted);
  ASSERT_EQ(largest.size(), wanted);
  must(largest);
  EXPECT_EQ(backend().stats().entry_count, largest.count());
  EXPECT_EQ(backend().stats().live_size, wanted);
  for (const WriteBatch::Change& change : largest.changes()) {
    ASSERT_EQ(backend().get(change.key).value(), change.value->joined());
  }
  if (limit <= kReachable) {
    expect_refused(of_size(limit + 1), {std::to_string(limit + 1), std::to_string(limit)});
  }
}

TEST_P(BackendContract, OnlyKeysThatBelongTogetherAreWrittenTogether) {
  WriteBatch apart;
  apart.put(as_byte_view("left/1"), Bytes::copy_of("one"));
  apart.erase(as_byte_view("right/1"));
  if (traits().atomic_scope == AtomicScope::batch) {
    must(apart);
    EXPECT_EQ(contents_of(backend()), (Contents{{"left/1", "one"}}));
    return;
  }
  const std::size_t size = traits().atomic_prefix_size;
  expect_refused(apart, {"left/1", "right/1", std::to_string(size)});
  // A key that ends before the others differ is by itself as well.
  const std::string lead(size, 'p');
  WriteBatch shorter;
  shorter.put(as_byte_view(lead), Bytes());
  shorter.put(as_byte_view(lead).first(size - 1), Bytes());
  expect_refused(shorter, {});
  must({{"", "the prefix"}, {"a", "one"}, {"b", "two"}});
  EXPECT_EQ(backend().stats().entry_count, 3u);
}

TEST_P(BackendContract, ManyEntriesAreKept) {
  Contents expected;
  for (int i = 0; i < 2000; i += 20) {
    WriteBatch some;
    for (int j = i; j < i + 20; ++j) {
      // Spread, so that the order of writing is not that of the keys.
      const std::string name = std::to_string(j * 7919 % 2003);
      some.put(at(name), Bytes::copy_of(std::to_string(j)));
      expected[std::string(at(name).text())] = std::to_string(j);
    }
    must(some);
  }
  EXPECT_EQ(contents_of(backend()), expected);
  reopen();
  EXPECT_EQ(contents_of(backend()), subject().persists() ? expected : Contents());
}

}  // namespace
}  // namespace varve::test
