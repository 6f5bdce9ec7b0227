#include "support/hooked_store.h"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <thread>

#include "varve/format.h"

namespace varve::test {
namespace {

class HookedStoreTest : public testing::Test {
 protected:
  HookedStoreTest() {
    static int count = 0;
    store_ =
        hook((*find_format("memory"))->create("memory:hooked " + std::to_string(++count)).value(),
             control_);
  }
  Result<CommitStats> commit(std::uint64_t tick) {
    Progress progress;
    return store_->commit({.tick = tick, .chunks = {{ChunkPos(1), Bytes()}}}, progress);
  }

  StoreControl control_;
  std::unique_ptr<Store> store_;
};

TEST_F(HookedStoreTest, WithoutHooksItIsTheStore) {
  ASSERT_TRUE(commit(1));
  EXPECT_TRUE(store_->read_chunk(ChunkPos(1)).value().has_value());
  EXPECT_TRUE(store_->quarantine(ChunkPos(1)));
  EXPECT_TRUE(store_->pin());
  EXPECT_TRUE(store_->close());
  EXPECT_EQ(control_.commit_count, 1u);
  EXPECT_EQ(control_.read_chunk_count, 1u);
  EXPECT_EQ(control_.quarantine_count, 1u);
  EXPECT_EQ(control_.close_count, 1u);
}

TEST_F(HookedStoreTest, AHookFailsACallBeforeItHappens) {
  control_.before_commit([](const Commit&) -> Status { return out_of_space("told to"); });
  int after_count = 0;
  control_.after_commit([&](const Result<CommitStats>&) { ++after_count; });
  EXPECT_EQ(commit(1).error().message(), "told to");
  EXPECT_EQ(store_->tick(), 0u);
  EXPECT_EQ(after_count, 0);
  control_.before_commit({});
  EXPECT_TRUE(commit(1));
  EXPECT_EQ(after_count, 1);

  control_.before_read_chunk([](const ChunkPos& pos) -> Status {
    if (pos == ChunkPos(2)) return corruption("torn");
    return {};
  });
  EXPECT_TRUE(store_->read_chunk(ChunkPos(1)));
  EXPECT_EQ(store_->read_chunk(ChunkPos(2)).error().code(), ErrorCode::corruption);
  control_.before_quarantine([](const ChunkPos&) -> Status { return io_error("no"); });
  EXPECT_FALSE(store_->quarantine(ChunkPos(1)));
}

TEST_F(HookedStoreTest, AHookMayThrow) {
  control_.before_commit([](const Commit&) -> Status { throw std::runtime_error("told to"); });
  EXPECT_THROW((void)commit(1), std::runtime_error);
}

TEST_F(HookedStoreTest, AHookThatWaitsHoldsOnlyItsCall) {
  std::latch inside(1);
  std::latch gate(1);
  control_.before_commit([&](const Commit&) {
    inside.count_down();
    gate.wait();
    return Status();
  });
  std::jthread committer([&] { EXPECT_TRUE(commit(1)); });
  inside.wait();
  EXPECT_EQ(store_->read_chunk(ChunkPos(1)).value(), std::nullopt);
  control_.before_commit({});
  gate.count_down();
  committer.join();
  EXPECT_TRUE(store_->read_chunk(ChunkPos(1)).value().has_value());
}

}  // namespace
}  // namespace varve::test
