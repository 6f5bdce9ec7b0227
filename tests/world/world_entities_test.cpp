// Entities and the chunks they stand in.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(50, 50);

Entity cow_in(const ChunkPos& pos) { return {.id = 5, .owner = pos, .data = text("cow")}; }

TEST(WorldEntities, StandInTheChunkTheyWerePutIn) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_TRUE(world.put_entity(cow_in(kHere)));
  ASSERT_TRUE(world.put_entity({.id = 3, .owner = kHere, .data = text("hen")}));
  ASSERT_TRUE(world.put_entity({.id = 9, .data = text("weather")}));
  const std::vector<Entity> here = world.entities_in(kHere);
  ASSERT_EQ(here.size(), 2U);
  EXPECT_EQ(here[0].id, 3U);
  EXPECT_EQ(here[1], cow_in(kHere));
  ASSERT_TRUE(world.put_entity(cow_in(kThere)));
  EXPECT_EQ(world.entities_in(kHere).size(), 1U);
  EXPECT_EQ(world.entities_in(kThere), std::vector<Entity>{cow_in(kThere)});
  ASSERT_TRUE(world.put_entity({.id = 5, .data = text("cow")}));
  EXPECT_TRUE(world.entities_in(kThere).empty());
  ASSERT_TRUE(world.save().wait());
  EXPECT_TRUE(world.store().read_entities_of(kThere)->empty());
  ASSERT_TRUE(world.erase_entity(3));
  EXPECT_TRUE(world.entities_in(kHere).empty());
  EXPECT_EQ(world.entity(3), std::nullopt);
  EXPECT_EQ(*world.load_entity(3), std::nullopt);
}

TEST(WorldEntities, SurviveInAChunkThatWasNeverLoaded) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  EXPECT_EQ(flat.world->state(kHere), ChunkState::absent);
  ASSERT_TRUE(flat.world->save().wait());
  flat.crash_and_reopen();
  EXPECT_TRUE(flat.world->entities_in(kHere).empty());
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_EQ(flat.world->entities_in(kHere), std::vector<Entity>{cow_in(kHere)});
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 0U);
}

TEST(WorldEntities, AreThereOnceHoweverTheyWereLoaded) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  ASSERT_TRUE(flat.world->save().wait());
  flat.crash_and_reopen();
  const auto loaded = flat.world->load_entity(5);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, cow_in(kHere));
  EXPECT_EQ(flat.world->entities_in(kHere).size(), 1U);
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_EQ(flat.world->entities_in(kHere).size(), 1U);
  // Moved while its chunk is not in memory: it is not found there afterwards.
  flat.world->evict(kHere);
  EXPECT_EQ(flat.world->entity(5), std::nullopt);
  ASSERT_TRUE(flat.world->put_entity(cow_in(kThere)));
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_TRUE(flat.world->entities_in(kHere).empty());
  EXPECT_EQ(flat.world->entities_in(kThere).size(), 1U);
}

TEST(WorldEntities, APutOfTheSameStaysClean) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 0U);
  ASSERT_TRUE(flat.world->put_entity(cow_in(kThere)));
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 1U);
}

TEST(WorldEntities, AnErasedOneMayComeBackInEveryPhase) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  for (const bool saved : {false, true}) {
    ASSERT_TRUE(world.put_entity(cow_in(kHere)));
    ASSERT_TRUE(world.save().wait());
    ASSERT_TRUE(world.erase_entity(5));
    if (saved) {
      ASSERT_TRUE(world.save().wait());
    }
    ASSERT_TRUE(world.put_entity(cow_in(kThere)));
    EXPECT_EQ(world.entities_in(kThere).size(), 1U);
    ASSERT_TRUE(world.save().wait());
    EXPECT_EQ(*world.store().read_entity(5), cow_in(kThere));
  }
}

TEST(WorldEntities, NewIdsNeverMeet) {
  FlatWorld flat(quiet_options());
  std::set<EntityId> ids;
  for (int session = 0; session < 5; ++session) {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(ids.insert(flat.world->new_entity_id()).second);
    flat.crash_and_reopen();
  }
}

TEST(WorldEntities, ThoseOfAChunkThatCannotBeLoadedAreFoundAllTheSame) {
  const std::string path = fresh_memory_path();
  {
    auto world = World::create(path);
    ASSERT_TRUE(world);
    ASSERT_TRUE(
        (*world)->put_entity({.id = 9, .owner = ChunkPos(4, 4), .data = Bytes::copy_of("x")}));
    ASSERT_TRUE((*world)->close());
  }
  auto world = World::open(path);
  ASSERT_TRUE(world);
  EXPECT_EQ((*world)->load_now({4, 4}).error().code(), ErrorCode::not_found);
  const auto entities = (*world)->load_entities_in({4, 4});
  ASSERT_TRUE(entities);
  ASSERT_EQ(entities->size(), 1U);
  EXPECT_EQ(entities->front().id, 9U);
  EXPECT_TRUE((*world)->entity(9));
}

}  // namespace
}  // namespace varve::test
