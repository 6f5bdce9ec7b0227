// Worlds that run out of memory: nothing is lost, and what was not done can be done again.
#include <gtest/gtest.h>

#include "support/allocation_watch.h"
#include "world/sample_world.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);
const std::byte kOne{1};

// The Nth allocation of the game thread fails, for N = 1, 2, 3 ... until a save starts.
void expect_starved_saves_lose_nothing(bool with_update) {
  for (std::size_t count = 0;; ++count) {
    FlatWorld flat;
    World& world = *flat.world;
    if (with_update) world.update(0);  // It makes some of what a save needs.
    for (int x = 0; x < 30; ++x) {
      ASSERT_EQ(flat.at({x, 0}, 0), 7);
      ASSERT_TRUE(flat.set({x, 0}, 0, 9));
    }
    ASSERT_TRUE(world.put_player("ann", Bytes::copy_of("1")));
    ASSERT_TRUE(world.erase(kThere));
    SaveHandle save;
    {
      const AllocationFailure starving(count);
      save = world.save();
    }
    const bool started = save.wait().has_value();
    const auto again = world.save().wait();
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(world.telemetry().dirty_record_count, 0U) << count;
    for (int x = 0; x < 30; ++x) EXPECT_EQ(flat.stored_at({x, 0}, 0), 9) << count;
    EXPECT_TRUE(*world.store().read_player("ann"));
    ASSERT_TRUE(world.close());
    if (started) {
      EXPECT_GT(count, 2U) << "nothing was starved";
      return;
    }
  }
}

TEST(WorldStarved, ASaveThatRunsOutOfMemoryLosesNothingAndBlocksNoLaterOne) {
  expect_starved_saves_lose_nothing(false);
  expect_starved_saves_lose_nothing(true);
}

TEST(WorldStarved, AnUpdateThatRunsOutOfMemoryLeavesSavesAsTheyWere) {
  for (std::size_t count = 0; count < 20; ++count) {
    FlatWorld flat;
    ASSERT_EQ(flat.at(kHere, 0), 7);
    ASSERT_TRUE(flat.set(kHere, 0, 9));
    {
      const AllocationFailure starving(count);
      flat.world->update(0);
    }
    ASSERT_TRUE(flat.world->save().wait()) << count;
    EXPECT_EQ(flat.stored_at(kHere, 0), 9) << count;
  }
}

// Those that could not be put together for lack of memory either are in the next one.
TEST(WorldStarved, SavesThatFailOneAfterAnotherAreAllInTheNext) {
  for (std::size_t count = 0; count < 60; ++count) {
    FlatWorld flat;
    World& world = *flat.world;
    const auto change = [&](int x) {
      const std::string text = std::to_string(x);
      EXPECT_EQ(flat.at({x, 0}, 0), 7);
      EXPECT_TRUE(flat.set({x, 0}, 0, 9));
      EXPECT_TRUE(world.put_entity({.id = static_cast<EntityId>(x + 1)}));
      EXPECT_TRUE(world.put_player(text, Bytes::copy_of(text)));
      EXPECT_TRUE(world.put_global(text, Bytes::copy_of(text)));
    };
    flat.control.before_commit([](const Commit&) -> Status { return out_of_space("no room"); });
    for (int x = 0; x < 4; ++x) {
      change(x);
      const AllocationFailure starving(count);
      (void)world.save_now();
    }
    flat.control.before_commit(nullptr);
    ASSERT_TRUE(world.save_now()) << count;
    EXPECT_EQ(world.telemetry().dirty_record_count, 0U) << count;
    for (int x = 0; x < 4; ++x) {
      EXPECT_EQ(flat.stored_at({x, 0}, 0), 9) << count;
      EXPECT_TRUE(*world.store().read_global(std::to_string(x))) << count;
    }
    change(5);
    EXPECT_EQ(world.telemetry().dirty_record_count, 4U) << count;
    ASSERT_TRUE(world.save_now()) << count;
    EXPECT_EQ(world.telemetry().dirty_record_count, 0U) << count;
  }
}

TEST(WorldStarved, ACopyOrAPlayerWhoLeavesWithoutMemoryLosesNothing) {
  for (std::size_t count = 0; count < 40; ++count) {
    FlatWorld flat;
    World& world = *flat.world;
    ASSERT_EQ(flat.at(kHere, 0), 7);
    ASSERT_TRUE(flat.set(kHere, 0, 9));
    ASSERT_TRUE(world.put_player("ann", Bytes::copy_of("1")));
    const std::string path = fresh_memory_path();
    SaveHandle copy;
    SaveHandle left;
    {
      const AllocationFailure starving(count);
      copy = world.save_to(path);
    }
    {
      const AllocationFailure starving(count);
      left = world.player_left("ann");
    }
    (void)copy.wait();
    (void)left.wait();
    ASSERT_TRUE(world.close());
    flat.crash_and_reopen();
    EXPECT_EQ(flat.stored_at(kHere, 0), 9);
    EXPECT_TRUE(*flat.world->store().read_player("ann"));
  }
}

TEST(WorldStarved, AnEditThatRunsOutOfMemoryIsDirtyOrDidNotHappen) {
  FlatWorld flat;
  for (int x = 0; x < 200; ++x) ASSERT_EQ(flat.at({x, 0}, 0), 7);
  int failed_count = 0;
  for (int x = 0; x < 200; ++x) {
    const Bytes edit = RawChunk::edit_of(0, {&kOne, 1});
    bool done = false;
    {
      const AllocationFailure starving(static_cast<std::size_t>(x % 4));
      done = flat.world->edit({x, 0}, edit).has_value();
    }
    failed_count += done ? 0 : 1;
    const bool changed = flat.at({x, 0}, 0) == 1;
    EXPECT_EQ(changed, flat.world->state({x, 0}) == ChunkState::dirty) << x;
    if (done) {
      EXPECT_TRUE(changed);
    }
  }
  EXPECT_GT(failed_count, 0);
  const auto saved = flat.world->save().wait();
  ASSERT_TRUE(saved) << saved.error().message();
}

// The Nth allocation fails, for N = 1, 2, 3 ... until the entity has moved.
TEST(WorldStarved, AnEntityThatCannotMoveForLackOfMemoryStaysWhereItWas) {
  const Entity here{.id = 1, .owner = kHere, .data = Bytes::copy_of("x")};
  Entity there = here;
  there.owner = kThere;
  for (std::size_t count = 0;; ++count) {
    FlatWorld flat;
    World& world = *flat.world;
    ASSERT_TRUE(world.put_entity(here));
    ASSERT_TRUE(world.save().wait());
    bool moved = false;
    {
      const AllocationFailure starving(count);
      moved = world.put_entity(there).has_value();
    }
    EXPECT_EQ(world.entity(1)->owner, moved ? kThere : kHere) << count;
    EXPECT_EQ(world.entities_in(kHere).size(), moved ? 0U : 1U) << count;
    EXPECT_EQ(world.entities_in(kThere).size(), moved ? 1U : 0U) << count;
    ASSERT_TRUE(world.erase_entity(1));
    ASSERT_TRUE(world.save().wait());
    if (moved) {
      EXPECT_GT(count, 1U) << "nothing was starved";
      return;
    }
  }
}

// The same for one that is loaded.
TEST(WorldStarved, AnEntityThatCannotBeLoadedForLackOfMemoryIsLoadedNextTime) {
  const Entity here{.id = 1, .owner = kHere, .data = Bytes::copy_of("x")};
  for (std::size_t count = 0;; ++count) {
    FlatWorld flat;
    ASSERT_TRUE(flat.world->put_entity(here));
    ASSERT_TRUE(flat.world->close());
    flat.crash_and_reopen();
    World& world = *flat.world;
    bool loaded = false;
    {
      const AllocationFailure starving(count);
      loaded = world.load_entity(1).has_value();
    }
    EXPECT_EQ(world.entities_in(kHere).size(), loaded ? 1U : 0U) << count;
    ASSERT_TRUE(world.load_entity(1));
    EXPECT_EQ(world.entities_in(kHere).size(), 1U) << count;
    ASSERT_TRUE(world.erase_entity(1));
    if (loaded) {
      EXPECT_GT(count, 1U) << "nothing was starved";
      return;
    }
  }
}

}  // namespace
}  // namespace varve::test
