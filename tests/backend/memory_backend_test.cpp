// What only the memory backend does. What every backend does is in contract/.
//
// Memory that runs out at the Nth allocation, for N = 1, 2, 3 ... until a call gets through.
// Invariants checked: nothing throws; the error is out_of_space; a batch that failed changed
// nothing, and the same batch succeeds once there is memory.
#include "backend/memory_backend.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "support/allocation_watch.h"

namespace varve {
namespace {

// Calls `call` with ever more memory until it succeeds; how often it failed.
template <class Call>
int failures_before(Call call, const std::function<void()>& after_failure = [] {}) {
  for (int count = 0;; ++count) {
    std::optional<test::AllocationFailure> starving(std::in_place, count);
    auto result = call();
    starving.reset();
    if (result) return count;
    EXPECT_EQ(result.error().code(), ErrorCode::out_of_space) << result.error().message();
    if (result.error().code() != ErrorCode::out_of_space) return count;
    after_failure();
  }
}

WriteBatch many(int count, std::string_view value) {
  WriteBatch batch;
  for (int i = 0; i < count; ++i) {
    batch.put(as_byte_view("a key that is a little longer " + std::to_string(i)),
              Bytes::copy_of(value));
  }
  return batch;
}

TEST(MemoryBackend, HasTheTraitsOfOne) {
  const auto backend = make_memory_backend();
  EXPECT_EQ(backend->traits().name, "memory");
  EXPECT_FALSE(backend->traits().durable);
  EXPECT_EQ(backend->traits().key_size_max, 255u);
  EXPECT_EQ(backend->traits().value_size_max, 1'073'741'823u);
  EXPECT_EQ(backend->traits().batch_size_max, 2'147'483'648u);
  EXPECT_EQ(backend->traits().atomic_scope, AtomicScope::batch);
}

TEST(MemoryBackend, SharesValuesWithoutACopy) {
  const auto backend = make_memory_backend();
  const Bytes value = Bytes::copy_of("a value");
  WriteBatch batch;
  batch.put(as_byte_view("k"), value);
  ASSERT_TRUE(backend->write(batch));
  EXPECT_EQ(backend->get(as_byte_view("k")).value()->data(), value.data());
  EXPECT_EQ(backend->range({}).value().entries.front().value->data(), value.data());
}

TEST(MemoryBackend, LetsGoOfWhatNobodySees) {
  const auto backend = make_memory_backend();
  const Bytes value = Bytes::copy_of("a value");
  const auto put = [&](const Bytes& what) {
    WriteBatch batch;
    batch.put(as_byte_view("k"), what);
    ASSERT_TRUE(backend->write(batch));
  };
  put(value);
  EXPECT_EQ(value.owner_count(), 2);
  auto held = backend->snapshot().value();
  put(Bytes());
  EXPECT_EQ(value.owner_count(), 2);
  held.reset();
  EXPECT_EQ(value.owner_count(), 1);
  put(value);
  ASSERT_TRUE(backend->close());
  EXPECT_EQ(value.owner_count(), 1);
}

TEST(MemoryBackend, ABatchHappensWhollyOrNotAtAllWhenMemoryRunsOut) {
  const auto backend = make_memory_backend();
  ASSERT_TRUE(backend->write(many(40, "old")));
  const auto held = backend->snapshot().value();
  WriteBatch batch = many(60, "new");
  // Erasures that have to balance the tree.
  for (int i = 0; i < 30; ++i) batch.erase(batch.changes()[static_cast<std::size_t>(i)].key);
  const auto expect_old = [](const ReadView& view) {
    const auto page = view.range({}).value();
    ASSERT_EQ(page.entries.size(), 40u);
    for (const RangeEntry& entry : page.entries) ASSERT_EQ(entry.value->text(), "old");
    ASSERT_EQ(view.sequence(), 1u);
  };
  EXPECT_GT(failures_before([&] { return backend->write(batch); },
                            [&] {
                              expect_old(*backend);
                              ASSERT_EQ(backend->stats().live_size, many(40, "old").size());
                            }),
            20);
  expect_old(*held);
  EXPECT_EQ(backend->sequence(), 2u);
  EXPECT_EQ(backend->stats().entry_count, 30u);
}

TEST(MemoryBackend, ReadersSayThatMemoryRanOut) {
  const auto backend = make_memory_backend();
  ASSERT_TRUE(backend->write(many(5, "x")));
  const Bytes key = many(1, "x").changes().front().key;
  const RangeQuery query{.prefix = Bytes::copy_of("a"), .count_max = 2};
  EXPECT_GT(failures_before([&] { return backend->range(query); }), 2);
  EXPECT_GT(failures_before([&] { return backend->snapshot(); }), 0);
  EXPECT_EQ(failures_before([&] { return backend->get(key); }), 0);

  const test::AllocationFailure starving(0);
  EXPECT_TRUE(backend->multi_get({}).empty());
  EXPECT_EQ(backend->get(ByteView()).error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(make_memory_backend(), nullptr);
}

TEST(MemoryBackend, AClosedOneSaysThatMemoryRanOutToo) {
  const auto backend = make_memory_backend();
  ASSERT_TRUE(backend->close());
  const test::AllocationFailure starving(0);
  EXPECT_EQ(backend->get(ByteView()).error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(backend->write(WriteBatch()).error().code(), ErrorCode::out_of_space);
}

}  // namespace
}  // namespace varve
