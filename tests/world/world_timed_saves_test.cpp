// Players and globals that are saved by the clock.
#include <gtest/gtest.h>

#include <cmath>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);

TEST(WorldTimedSaves, StorePlayersEveryMinuteIfAnyIsDirty) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.put_global("weather", text("rain")));
  world.tick();
  for (int second = 1; second < 60; ++second) watch.update(1);
  EXPECT_EQ(flat.control.commit_count, 0U);
  watch.update(1);
  watch.update_until([&] { return world.telemetry().commit_count == 1; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
  EXPECT_EQ(*world.store().read_global("weather"), std::nullopt);
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  EXPECT_EQ(world.store().tick(), 0U);
  EXPECT_EQ(world.player("ann"), text("1")) << "it stays in memory";
  for (int second = 0; second < 180; ++second) watch.update(1);
  EXPECT_EQ(flat.control.commit_count, 1U) << "nobody changed";
  ASSERT_TRUE(world.put_player("ann", text("2")));
  for (int second = 0; second < 61; ++second) watch.update(1);
  watch.update_until([&] { return world.telemetry().commit_count == 2; });
  EXPECT_EQ(*world.store().read_player("ann"), text("2"));
}

TEST(WorldTimedSaves, MayBeSetAndSwitchedOff) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  ASSERT_TRUE(world.set_timed_saves({.players_s = 0, .globals_s = 10}));
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.put_global("weather", text("rain")));
  watch.update(500);
  watch.update_until([&] { return world.telemetry().commit_count == 1; });
  EXPECT_EQ(*world.store().read_global("weather"), text("rain"));
  EXPECT_EQ(*world.store().read_player("ann"), std::nullopt);
  EXPECT_FALSE(world.set_timed_saves({.players_s = -1}));
  EXPECT_FALSE(world.set_timed_saves({.players_s = std::nan("")}));
}

TEST(WorldTimedSaves, StoreWhatACopyTook) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.save_to(fresh_memory_path()).wait());
  EXPECT_EQ(world.telemetry().dirty_record_count, 1U) << "a copy leaves it dirty";
  watch.update(61);
  watch.update_until([&] { return world.telemetry().dirty_record_count == 0; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

TEST(WorldTimedSaves, AFailureIsTriedAgainWithoutWaitingForTheNextMinute) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("full"); });
  ASSERT_TRUE(world.put_player("ann", text("1")));
  watch.update(60);
  watch.update_until([&] { return world.telemetry().save_failure_count == 1; });
  flat.control.before_commit({});
  watch.update(6);
  watch.update_until([&] { return world.telemetry().dirty_record_count == 0; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

TEST(WorldTimedSaves, AreNotNeededToClose) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_player("ann", text("1")));
  ASSERT_TRUE(flat.world->close());
  flat.crash_and_reopen();
  EXPECT_EQ(*flat.world->load_player("ann"), text("1"));
}

}  // namespace
}  // namespace varve::test
