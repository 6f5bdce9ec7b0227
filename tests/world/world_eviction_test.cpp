// What leaves memory, and that it is stored first.
#include <gtest/gtest.h>

#include <mutex>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(50, 50);

TEST(WorldEviction, ADirtyChunkIsStoredFirst) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.set(kThere, 0, 9));
  const std::uint64_t tick = flat.world->tick();
  flat.world->evict(kHere);
  watch.update();
  gate.wait_for_arrivals(1);
  watch.update();
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty) << "still there, and readable";
  EXPECT_EQ(flat.at(kThere, 0), 9);
  gate.open();
  watch.update_until_absent(kHere);
  watch.update();
  EXPECT_EQ(watch.evicted, std::vector<ChunkPos>{kHere});
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
  EXPECT_EQ(flat.stored_at(kThere, 0), -1) << "only what leaves is saved";
  EXPECT_EQ(flat.world->store().tick(), 0U) << "a part of the world is of no tick";
  EXPECT_EQ(flat.world->telemetry().commit_count, 1U);
  EXPECT_EQ(flat.world->telemetry().save_count, 0U);
  EXPECT_EQ(flat.world->telemetry().evicted_count, 1U);
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.world->store().tick(), tick);
}

TEST(WorldEviction, AChunkEditedDuringItsSaveLeavesWithTheEdit) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  flat.world->evict(kHere);
  watch.update();
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.set(kHere, 1, 10));
  gate.open();
  watch.update_until_absent(kHere);
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
  EXPECT_EQ(flat.stored_at(kHere, 1), 10);
}

TEST(WorldEviction, NothingIsLostWhileTheStoreFailsAndItIsTriedAgainLaterAndLater) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  flat.control.before_commit(failing_commits());
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  flat.world->evict(kHere);
  const auto tried = [&](std::uint64_t count) {
    return flat.control.commit_count >= count &&
           flat.world->telemetry().save_failure_count >= count;
  };
  watch.update_until([&] { return tried(1); });
  for (int i = 0; i < 10; ++i) watch.update(0);
  watch.update(4.5);
  EXPECT_EQ(flat.control.commit_count, 1U) << "not before retry_s";
  watch.update(1);
  watch.update_until([&] { return tried(2); });
  watch.update(9);
  EXPECT_EQ(flat.control.commit_count, 2U) << "twice as late";
  ASSERT_TRUE(flat.world->get(kHere)) << "still in memory";
  EXPECT_EQ(flat.world->get(kHere).as<RawChunk>().view()[0], std::byte{9});
  flat.control.before_commit({});
  watch.update(2);
  watch.update_until_absent(kHere);
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 0U);
}

TEST(WorldEviction, ARetryTimeOfMinutesIsKept) {
  WorldOptions options = quiet_options();
  options.autosave->retry_s = 100;
  FlatWorld flat(options);
  StreamWatch watch(flat);
  flat.control.before_commit(failing_commits());
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  flat.world->evict(kHere);
  for (std::uint64_t count = 1; count <= 3; ++count) {
    watch.update_until([&] { return flat.world->telemetry().save_failure_count == count; });
    watch.update(99);
    EXPECT_EQ(flat.control.commit_count, count);
    watch.update(1000);
  }
}

TEST(WorldEviction, WhatAFailedSaveTookIsStoredForTheEviction) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  flat.control.before_commit(failing_commits());
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_FALSE(flat.world->save().wait());
  flat.control.before_commit({});
  flat.world->evict(kHere);
  watch.update(1000);
  watch.update_until_absent(kHere);
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
}

TEST(WorldEviction, WhatACopyTookIsStoredForTheEviction) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(flat.world->save_to(fresh_memory_path()).wait());
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  flat.world->evict(kHere);
  watch.update_until_absent(kHere);
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
}

// Encodes only once it is told to.
class StubbornChunk final : public Chunk {
 public:
  Result<Bytes> encode(BufferPool&) const override {
    ++encode_count;
    if (refuses) return invalid_argument("not now");
    return Bytes::copy_of("well then");
  }
  std::unique_ptr<Chunk> clone() const override { return std::make_unique<StubbornChunk>(); }
  Result<bool> apply(ByteView) override { return true; }
  std::size_t memory_size() const override { return 1; }

  static inline std::atomic<bool> refuses = true;
  static inline std::atomic<int> encode_count = 0;
};

TEST(WorldEviction, AChunkThatCannotBeEncodedStaysAndIsNotTriedEveryFrame) {
  WorldOptions options = quiet_options();
  options.chunk_type = raw_chunks();
  FlatWorld flat(options);
  StreamWatch watch(flat);
  StubbornChunk::refuses = true;
  StubbornChunk::encode_count = 0;
  ASSERT_TRUE(flat.world->put(kHere, std::make_unique<StubbornChunk>()));
  flat.world->evict(kHere);
  watch.update_until([&] { return flat.world->telemetry().commit_count == 1; });
  for (int i = 0; i < 100; ++i) {
    watch.update(0);
    std::this_thread::yield();
  }
  EXPECT_EQ(StubbornChunk::encode_count, 1);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  // Others leave meanwhile.
  ASSERT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.set(kThere, 0, 9));
  flat.world->evict(kThere);
  StubbornChunk::refuses = false;
  watch.update(6);
  watch.update_until_absent(kHere);
  watch.update_until_absent(kThere);
}

TEST(WorldEviction, ComingBackBeforeItLeftKeepsItInMemory) {
  for (const bool by_request : {true, false}) {
    Gate gate;
    FlatWorld flat(quiet_options());
    const GateOpener opener(gate);
    StreamWatch watch(flat);
    flat.control.before_commit([&](const Commit&) {
      gate.pass();
      return Status();
    });
    ASSERT_EQ(flat.at(kHere, 0), 7);
    ASSERT_TRUE(flat.set(kHere, 0, 9));
    flat.world->evict(kHere);
    watch.update();
    gate.wait_for_arrivals(1);
    if (by_request) {
      ASSERT_TRUE(flat.world->request(kHere));
    } else {
      ASSERT_TRUE(flat.world->load_now(kHere));
    }
    gate.open();
    watch.update_until([&] { return flat.world->telemetry().dirty_record_count == 0; });
    watch.update();
    EXPECT_EQ(flat.world->state(kHere), ChunkState::persisted) << by_request;
    EXPECT_TRUE(watch.evicted.empty());
  }
}

TEST(WorldEviction, APutAfterTheEvictionStays) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  flat.world->evict(kHere);
  ASSERT_TRUE(flat.world->put(kHere, flat_chunk(3)));
  ASSERT_TRUE(flat.world->save().wait());
  watch.update();
  EXPECT_EQ(flat.world->state(kHere), ChunkState::persisted);
}

TEST(WorldEviction, EvictThenReloadNeverReturnsStaleData) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_EQ(flat.at(kHere, 0), 7);
  for (int round = 0; round < 50; ++round) {
    const auto value = static_cast<std::uint8_t>(100 + round);
    ASSERT_TRUE(flat.set(kHere, 0, value));
    flat.world->evict(kHere);
    if (round % 3 == 0) watch.update();
    if (round % 3 == 1) watch.update_until_absent(kHere);
    ASSERT_TRUE(flat.world->request(kHere));
    watch.settle_loads();
    ASSERT_EQ(flat.at(kHere, 0), value);
  }
}

}  // namespace
}  // namespace varve::test
