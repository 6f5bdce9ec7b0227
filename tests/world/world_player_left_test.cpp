// Players who leave: saved at once, then dropped.
#include <gtest/gtest.h>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);

TEST(WorldPlayerLeft, SavesThePlayerAndDropsIt) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.put_player("bob", text("2")));
  world.tick();
  SaveHandle left = world.player_left("ann");
  ASSERT_TRUE(left.wait());
  world.update(0);
  EXPECT_EQ(world.player("ann"), std::nullopt);
  EXPECT_EQ(*world.load_player("ann"), text("1"));
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
  EXPECT_EQ(*world.store().read_player("bob"), std::nullopt) << "only who left";
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  EXPECT_EQ(world.store().tick(), 0U);
  EXPECT_EQ(world.player("bob"), text("2"));
}

TEST(WorldPlayerLeft, OfACleanOrUnknownPlayerIsDoneAtOnce) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  EXPECT_TRUE(world.player_left("nobody").is_stored());
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.save().wait());
  world.update(0);
  const std::uint64_t commits = flat.control.commit_count;
  EXPECT_TRUE(world.player_left("ann").is_stored());
  EXPECT_EQ(world.player("ann"), std::nullopt);
  EXPECT_EQ(flat.control.commit_count, commits);
  EXPECT_EQ(*world.load_player("ann"), text("1"));
}

TEST(WorldPlayerLeft, WhileASaveHasThePlayerEndsAfterIt) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  World& world = *flat.world;
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(world.put_player("ann", text("1")));
  SaveHandle save = world.save();
  gate.wait_for_arrivals(1);
  SaveHandle left = world.player_left("ann");
  EXPECT_FALSE(left.is_done());
  EXPECT_EQ(*world.load_player("ann"), text("1"));
  gate.open();
  ASSERT_TRUE(left.wait());
  EXPECT_TRUE(save.is_stored());
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

TEST(WorldPlayerLeft, AnErasedPlayerIsErasedThen) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.save().wait());
  ASSERT_TRUE(world.erase_player("ann"));
  ASSERT_TRUE(world.player_left("ann").wait());
  EXPECT_EQ(*world.store().read_player("ann"), std::nullopt);
  EXPECT_EQ(*world.load_player("ann"), std::nullopt);
}

TEST(WorldPlayerLeft, WhoComesBackBeforeItIsStoredStaysInMemory) {
  for (const bool by_put : {true, false}) {
    Gate gate;
    FlatWorld flat(quiet_options());
    const GateOpener opener(gate);
    World& world = *flat.world;
    flat.control.before_commit([&](const Commit&) {
      gate.pass();
      return Status();
    });
    ASSERT_TRUE(world.put_player("ann", text("1")));
    SaveHandle left = world.player_left("ann");
    gate.wait_for_arrivals(1);
    if (by_put) {
      ASSERT_TRUE(world.put_player("ann", text("2")));
    } else {
      ASSERT_EQ(*world.load_player("ann"), text("1"));
    }
    gate.open();
    ASSERT_TRUE(left.wait());
    ASSERT_TRUE(world.save().wait());
    world.update(0);
    EXPECT_EQ(world.player("ann"), text(by_put ? "2" : "1"));
  }
}

TEST(WorldPlayerLeft, AFailureLosesNothingAndIsTriedAgain) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("full"); });
  ASSERT_TRUE(world.put_player("ann", text("1")));
  const auto left = world.player_left("ann").wait();
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(*world.load_player("ann"), text("1"));
  flat.control.before_commit({});
  watch.update(6);
  watch.update_until([&] { return world.telemetry().dirty_record_count == 0; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

}  // namespace
}  // namespace varve::test
