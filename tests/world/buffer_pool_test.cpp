#include <gtest/gtest.h>

#include <cstring>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/allocation_watch.h"
#include "varve/chunk.h"

namespace varve {
namespace {

Bytes filled(BufferPool& pool, std::size_t size, int value) {
  Buffer block = pool.take(size);
  EXPECT_EQ(block.size(), size);
  if (size != 0) std::memset(block.data(), value, size);
  return pool.share(std::move(block));
}

TEST(BufferPool, ABlockComesBackOnceNobodyHoldsIt) {
  BufferPool pool;
  std::optional<Bytes> first = filled(pool, 10'000, 1);
  Bytes part = first->slice(100, 10);
  const std::byte* const where = first->data();
  first.reset();
  const Bytes second = filled(pool, 10'000, 2);
  EXPECT_NE(second.data(), where) << "a slice still shows it";
  EXPECT_EQ(part.view()[0], std::byte{1});
  part = {};
  const Bytes third = filled(pool, 9'000, 3);
  EXPECT_EQ(third.data(), where);
  EXPECT_EQ(third.size(), 9'000u);
}

TEST(BufferPool, TheSmallestBlockThatFitsIsTaken) {
  BufferPool pool;
  const std::byte* where = nullptr;
  {
    const Bytes larger = filled(pool, 3000, 1);
    const Bytes fitting = filled(pool, 2000, 1);
    const Bytes smaller = filled(pool, 1000, 1);
    where = fitting.data();
  }
  EXPECT_EQ(pool.take(1500).data(), where);
}

TEST(BufferPool, ALargeBlockIsNotSpentOnAFewBytes) {
  BufferPool pool;
  filled(pool, 1 << 20, 1);
  const test::AllocationWatch watch;
  const Bytes small = filled(pool, 100, 2);
  EXPECT_GE(watch.live_size(), 100u);
}

TEST(BufferPool, NothingIsAValueToo) {
  BufferPool pool;
  EXPECT_TRUE(filled(pool, 0, 0).empty());
  EXPECT_TRUE(pool.share({}).empty());
}

TEST(BufferPool, KeepsAtMost64Blocks) {
  BufferPool pool;
  const test::AllocationWatch watch;
  {
    std::vector<Bytes> held;
    for (int i = 0; i < 200; ++i) held.push_back(filled(pool, 1000, i));
    EXPECT_GE(watch.live_size(), 200u * 1000);
  }
  EXPECT_GE(watch.live_size(), 64u * 1000);
  EXPECT_LE(watch.live_size(), 64u * 1200);
}

TEST(BufferPool, KeepsAtMost16MiB) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  BufferPool pool;
  const test::AllocationWatch watch;
  {
    std::vector<Bytes> held;
    for (int i = 0; i < 10; ++i) held.push_back(filled(pool, 3 * kMiB, i));
  }
  EXPECT_GE(watch.live_size(), 15 * kMiB);
  EXPECT_LE(watch.live_size(), 16 * kMiB);
  filled(pool, 17 * kMiB, 1);
  EXPECT_LE(watch.live_size(), 16 * kMiB);
}

TEST(BufferPool, NewSizesReplaceThoseNobodyAsksFor) {
  BufferPool pool;
  {
    std::vector<Bytes> held;
    for (int i = 0; i < 64; ++i) held.push_back(filled(pool, 1000, i));
  }
  filled(pool, 100'000, 1);
  const test::AllocationWatch watch;
  const Buffer again = pool.take(100'000);
  EXPECT_EQ(watch.peak_size(), 0u);
}

TEST(BufferPool, BytesOutliveThePool) {
  auto pool = std::make_unique<BufferPool>();
  const Bytes bytes = filled(*pool, 1000, 7);
  pool.reset();
  EXPECT_EQ(bytes.view()[999], std::byte{7});
}

TEST(BufferPool, ThreadsShareIt) {
  auto pool = std::make_unique<BufferPool>();
  std::latch start(4);
  std::vector<Bytes> last(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (std::size_t i = 0; i < 300; ++i) {
        last[t] = filled(*pool, 500 + i % 7 * 100, static_cast<int>(t));
        EXPECT_EQ(last[t].view()[499], std::byte(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The last blocks come home from several threads while home goes away.
  std::latch again(5);
  threads.clear();
  for (Bytes& bytes : last) {
    threads.emplace_back([&] {
      again.arrive_and_wait();
      bytes = {};
    });
  }
  again.arrive_and_wait();
  pool.reset();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace varve
