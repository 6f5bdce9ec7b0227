// Saving each edited chunk soon after its edit.
#include <gtest/gtest.h>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

using WhenFull = WriteThroughConfig::WhenFull;

WorldOptions write_through(std::size_t queue_size = 64,
                           WhenFull when_full = WhenFull::leave_dirty) {
  WorldOptions options = quiet_options();
  options.write_through = {
      .enabled = true, .async_save_queue_size = queue_size, .when_full = when_full};
  return options;
}

void load_row(FlatWorld& flat, int count) {
  for (int x = 0; x < count; ++x) ASSERT_EQ(flat.at({x, 0}, 0), 7);
}

void until_clean(StreamWatch& watch) {
  watch.update_until([&] { return watch.flat.world->telemetry().dirty_record_count == 0; });
}

TEST(WorldWriteThrough, StoresAnEditWithoutASave) {
  FlatWorld flat(write_through());
  StreamWatch watch(flat);
  load_row(flat, 2);
  flat.world->tick();
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  EXPECT_EQ(flat.world->telemetry().queue_count, 1U);
  until_clean(watch);
  EXPECT_EQ(flat.stored_at({0, 0}, 0), 9);
  EXPECT_EQ(flat.world->state({0, 0}), ChunkState::persisted);
  EXPECT_EQ(flat.world->store().tick(), 0U) << "it is of no tick";
  EXPECT_FALSE(flat.world->last_save()) << "nor is it a save";
  EXPECT_EQ(flat.world->telemetry().queue_count, 0U);
  EXPECT_EQ(flat.world->telemetry().commit_count, 1U);
  ASSERT_TRUE(flat.world->erase({0, 0}));
  watch.update_until([&] { return flat.stored_at({0, 0}, 0) == -1; });
  ASSERT_TRUE(flat.world->put({1, 0}, flat_chunk(3)));
  watch.update_until([&] { return flat.stored_at({1, 0}, 0) == 3; });
}

TEST(WorldWriteThrough, RepeatedEditsAreOne) {
  Gate gate;
  FlatWorld flat(write_through());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  load_row(flat, 2);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(flat.set({1, 0}, 0, 9));
  watch.update();
  gate.wait_for_arrivals(1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(flat.set({0, 0}, 0, static_cast<std::uint8_t>(100 + i)));
    watch.update();
  }
  EXPECT_EQ(flat.world->telemetry().queue_count, 1U);
  EXPECT_EQ(flat.world->telemetry().queue_coalesced_count, 99U);
  EXPECT_EQ(flat.control.commit_count, 1U);
  gate.open();
  until_clean(watch);
  EXPECT_EQ(flat.control.commit_count, 2U);
  EXPECT_EQ(flat.stored_at({0, 0}, 0), 199);
  EXPECT_EQ(flat.world->telemetry().encode_count, 2U);
}

TEST(WorldWriteThrough, AnEditOfWhatIsBeingWrittenIsWrittenAfterIt) {
  Gate gate;
  FlatWorld flat(write_through());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  load_row(flat, 1);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  watch.update();
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.set({0, 0}, 0, 10));
  gate.open();
  until_clean(watch);
  EXPECT_EQ(flat.stored_at({0, 0}, 0), 10);
}

TEST(WorldWriteThrough, AFullQueueLeavesFurtherChunksDirtyForTheNextSave) {
  Gate gate;
  FlatWorld flat(write_through(3));
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  load_row(flat, 10);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  for (int x = 0; x < 10; ++x) ASSERT_TRUE(flat.set({x, 0}, 0, 9));
  EXPECT_EQ(flat.world->telemetry().queue_count, 3U);
  EXPECT_EQ(flat.world->telemetry().queue_full_count, 7U);
  ASSERT_TRUE(flat.set({0, 0}, 1, 9)) << "one that waits already costs nothing";
  EXPECT_EQ(flat.world->telemetry().queue_full_count, 7U);
  gate.open();
  watch.update_until([&] { return flat.world->telemetry().dirty_record_count == 7; });
  watch.update();
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 7U);
  ASSERT_TRUE(flat.world->save().wait());
  for (int x = 0; x < 10; ++x) EXPECT_EQ(flat.stored_at({x, 0}, 0), 9) << x;
}

TEST(WorldWriteThrough, AFullQueueCanMakeTheEditWaitForRoom) {
  FlatWorld flat(write_through(3, WhenFull::wait));
  StreamWatch watch(flat);
  load_row(flat, 50);
  for (int x = 0; x < 50; ++x) {
    ASSERT_TRUE(flat.set({x, 0}, 0, 9));
    EXPECT_LE(flat.world->telemetry().queue_count, 3U);
  }
  EXPECT_GT(flat.world->telemetry().queue_full_count, 0U);
  until_clean(watch);
  for (int x = 0; x < 50; ++x) EXPECT_EQ(flat.stored_at({x, 0}, 0), 9) << x;
}

TEST(WorldWriteThrough, NobodyWaitsForADiskThatFails) {
  FlatWorld flat(write_through(1, WhenFull::wait));
  StreamWatch watch(flat);
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("full"); });
  load_row(flat, 10);
  for (int x = 0; x < 10; ++x) ASSERT_TRUE(flat.set({x, 0}, 0, 9));
  EXPECT_EQ(flat.world->telemetry().dirty_chunk_count, 10U);
  flat.control.before_commit({});
  ASSERT_TRUE(flat.world->save().wait());
  for (int x = 0; x < 10; ++x) EXPECT_EQ(flat.stored_at({x, 0}, 0), 9) << x;
}

TEST(WorldWriteThrough, AFailureIsTriedAgainWithTheNewestState) {
  FlatWorld flat(write_through());
  StreamWatch watch(flat);
  load_row(flat, 2);
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("full"); });
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  watch.update_until([&] { return flat.world->telemetry().save_failure_count == 1; });
  ASSERT_TRUE(flat.set({0, 0}, 0, 10));
  ASSERT_TRUE(flat.set({1, 0}, 0, 11));
  for (int i = 0; i < 20; ++i) watch.update(0.1);
  EXPECT_EQ(flat.control.commit_count, 1U) << "not every frame";
  flat.control.before_commit({});
  watch.update(4);
  until_clean(watch);
  EXPECT_EQ(flat.stored_at({0, 0}, 0), 10);
  EXPECT_EQ(flat.stored_at({1, 0}, 0), 11);
}

TEST(WorldWriteThrough, WhatAFailedSaveTookIsTriedAgainToo) {
  FlatWorld flat(write_through());
  StreamWatch watch(flat);
  load_row(flat, 1);
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("full"); });
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  ASSERT_FALSE(flat.world->save().wait());
  flat.control.before_commit({});
  for (int i = 0; i < 10; ++i) watch.update(1);
  until_clean(watch);
  EXPECT_EQ(flat.stored_at({0, 0}, 0), 9);
}

TEST(WorldWriteThrough, WhatACopyTookIsWrittenStill) {
  FlatWorld flat(write_through());
  StreamWatch watch(flat);
  load_row(flat, 1);
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  ASSERT_TRUE(flat.world->save_to(fresh_memory_path()).wait());
  until_clean(watch);
  EXPECT_EQ(flat.stored_at({0, 0}, 0), 9);
}

TEST(WorldWriteThrough, SwitchedOffWritesWhatWaitsAndNoMore) {
  FlatWorld flat(write_through());
  StreamWatch watch(flat);
  load_row(flat, 2);
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  ASSERT_TRUE(flat.world->set_write_through({.enabled = false}));
  ASSERT_TRUE(flat.set({1, 0}, 0, 9));
  watch.update_until([&] { return flat.stored_at({0, 0}, 0) == 9; });
  watch.update();
  EXPECT_EQ(flat.world->state({1, 0}), ChunkState::dirty);
  EXPECT_EQ(flat.stored_at({1, 0}, 0), -1);
  ASSERT_TRUE(flat.world->set_write_through({.enabled = true}));
  ASSERT_TRUE(flat.set({1, 0}, 1, 9));
  until_clean(watch);
  EXPECT_EQ(flat.stored_at({1, 0}, 0), 9);
  EXPECT_FALSE(flat.world->set_write_through({.async_save_queue_size = 0}));
}

TEST(WorldWriteThrough, ASaveOfEverythingTakesWhatWaits) {
  Gate gate;
  FlatWorld flat(write_through());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  load_row(flat, 3);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  watch.update();
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.set({1, 0}, 0, 9));
  ASSERT_TRUE(flat.world->put_player("ann", text("1")));
  const std::uint64_t tick = flat.world->tick();
  SaveHandle save = flat.world->save();
  ASSERT_TRUE(flat.set({1, 0}, 1, 10));
  watch.update();
  gate.open();
  const auto saved = save.wait();
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->tick, tick);
  EXPECT_EQ(saved->chunk_count, 1U) << "the other was written before";
  until_clean(watch);
  EXPECT_EQ(flat.stored_at({1, 0}, 0), 9);
  EXPECT_EQ(flat.stored_at({1, 0}, 1), 10);
  EXPECT_EQ(flat.world->store().tick(), tick);
}

TEST(WorldWriteThrough, AChunkThatIsEvictedMeanwhileIsWrittenOnce) {
  FlatWorld flat(write_through());
  StreamWatch watch(flat);
  load_row(flat, 1);
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  flat.world->evict({0, 0});
  watch.update_until_absent({0, 0});
  EXPECT_EQ(flat.world->telemetry().encode_count, 1U);
  EXPECT_EQ(flat.stored_at({0, 0}, 0), 9);
  EXPECT_EQ(flat.world->telemetry().queue_count, 0U);
}

TEST(WorldWriteThrough, CloseStoresWhatWaits) {
  FlatWorld flat(write_through());
  load_row(flat, 1);
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  ASSERT_TRUE(flat.world->close());
  flat.crash_and_reopen();
  EXPECT_EQ(flat.at({0, 0}, 0), 9);
}

TEST(WorldWriteThrough, AChunkErasedAndMadeAnewWaitsOnce) {
  FlatWorld flat(write_through(2));
  StreamWatch watch(flat);
  load_row(flat, 1);
  // Erased, forgotten and made anew: it waits once, not twice.
  ASSERT_TRUE(flat.set({0, 0}, 0, 9));
  ASSERT_TRUE(flat.world->erase({0, 0}));
  ASSERT_TRUE(flat.world->save().wait());
  flat.world->update(0);
  ASSERT_TRUE(flat.world->put({0, 0}, flat_chunk(4)));
  EXPECT_EQ(flat.world->telemetry().queue_count, 1U);
  until_clean(watch);
  EXPECT_EQ(flat.stored_at(ChunkPos(0, 0), 0), 4);
}

}  // namespace
}  // namespace varve::test
