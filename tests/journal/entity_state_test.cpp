#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "model_world.h"
#include "varve/entity_state.h"

namespace varve {
namespace {

Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }

constexpr EntityId kCow = make_entity(3, 0);
constexpr EntityId kPig = make_entity(4, 2);
const ChunkPos kHere(1, 2);

TickMutations spawned(EntityId entity, std::optional<ChunkPos> chunk = std::nullopt) {
  TickRecorder recorder;
  recorder.spawn(entity, chunk);
  recorder.insert(entity, 1, bytes("one"));
  return recorder.take();
}
TickMutations despawned(EntityId entity) {
  TickRecorder recorder;
  recorder.despawn(entity);
  return recorder.take();
}

void expect_refused(EntityState& state, const TickMutations& tick, std::string_view why) {
  const EntityState before = state;
  const Status applied = state.apply(tick);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(applied.error().message().find(why), std::string::npos) << applied.error().message();
  EXPECT_TRUE(state == before);
  EXPECT_EQ(state.digest(), before.digest());
}

TEST(EntityState, KeepsWhatATickPutsThere) {
  EntityState state;
  ASSERT_TRUE(state.apply(spawned(kCow, kHere)));
  EXPECT_TRUE(state.contains(kCow));
  EXPECT_FALSE(state.contains(make_entity(3, 1)));
  EXPECT_EQ(as_text(*state.component(kCow, 1)), "one");
  EXPECT_FALSE(state.component(kCow, 2));
  EXPECT_FALSE(state.component(kPig, 1));
  EXPECT_EQ(state.entities_in(kHere), std::vector<EntityId>{kCow});
  EXPECT_TRUE(state.entities_in(ChunkPos(2, 1)).empty());
  ASSERT_TRUE(state.apply(despawned(kCow)));
  EXPECT_EQ(state.entity_count(), 0u);
  EXPECT_TRUE(state.entities_in(kHere).empty());
}

TEST(EntityState, AnEmptyValueIsAValue) {
  EntityState state;
  TickRecorder recorder;
  recorder.spawn(kCow);
  recorder.insert(kCow, kWholeEntity, {});
  recorder.set_singleton(0, Bytes());
  ASSERT_TRUE(state.apply(recorder.take()));
  ASSERT_TRUE(state.component(kCow, kWholeEntity));
  EXPECT_TRUE(state.component(kCow, kWholeEntity)->empty());
  EXPECT_NE(state.singleton(0), nullptr);
}

TEST(EntityState, NumbersAreHandedOutLowestIndexFirst) {
  EntityState state;
  EXPECT_EQ(*state.next_entity(), make_entity(1, 0));
  for (std::uint32_t i = 1; i <= 5'000; ++i) {
    ASSERT_EQ(*state.next_entity(), make_entity(i, 0));
    ASSERT_TRUE(state.apply(spawned(make_entity(i, 0))));
  }
  ASSERT_TRUE(state.apply(despawned(make_entity(4'097, 0))));
  EXPECT_EQ(*state.next_entity(), make_entity(4'097, 1));
  ASSERT_TRUE(state.apply(despawned(make_entity(70, 0))));
  EXPECT_EQ(*state.next_entity(), make_entity(70, 1));
  ASSERT_TRUE(state.apply(spawned(make_entity(70, 1))));
  ASSERT_TRUE(state.apply(spawned(make_entity(4'097, 9))));
  EXPECT_EQ(*state.next_entity(), make_entity(5'001, 0));
}

TEST(EntityState, IndexesMayBeFarApart) {
  EntityState state;
  const EntityId far = make_entity(0xffff'ffff, 7);
  ASSERT_TRUE(state.apply(spawned(far)));
  EXPECT_EQ(*state.next_entity(), make_entity(1, 0));
  ASSERT_TRUE(state.apply(spawned(make_entity(1, 0))));
  ASSERT_TRUE(state.apply(spawned(make_entity(0, 1))));
  EXPECT_EQ(*state.next_entity(), make_entity(2, 0));
  EXPECT_EQ(as_text(*state.component(far, 1)), "one");
  std::vector<EntityId> seen;
  state.for_each([&](const EntityView& view) {
    seen.push_back(view.entity);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<EntityId>{make_entity(0, 1), make_entity(1, 0), far}));
}

TEST(EntityState, AnIndexIsGivenUpAfterItsLastGeneration) {
  EntityState state;
  const EntityId last = make_entity(1, 0xffff'ffff);
  ASSERT_TRUE(state.apply(spawned(last)));
  ASSERT_TRUE(state.apply(despawned(last)));
  EXPECT_EQ(*state.next_entity(), make_entity(2, 0));
  expect_refused(state, spawned(make_entity(1, 5)), "generation 4294967295 already");
}

TEST(EntityState, WhoPassedUsedUpItsNumber) {
  EntityState state;
  TickRecorder recorder;
  recorder.spawn(make_entity(1, 0));
  recorder.despawn(make_entity(1, 0));
  const TickMutations tick = recorder.take();
  ASSERT_TRUE(state.apply(tick));
  EXPECT_EQ(state.entity_count(), 0u);
  EXPECT_EQ(*state.next_entity(), make_entity(1, 1));
  ASSERT_TRUE(state.apply(tick));
  EXPECT_EQ(*state.next_entity(), make_entity(1, 1));
}

TEST(EntityState, WhatMakesNoSenseIsRefusedWhole) {
  EntityState state;
  ASSERT_TRUE(state.apply(spawned(kPig, kHere)));
  const EntityId older = make_entity(4, 1);
  const EntityId newer = make_entity(4, 3);
  expect_refused(state, spawned(older), "generation 2 already");
  expect_refused(state, spawned(newer), "generation 2 lives at its index");
  expect_refused(state, despawned(newer), "never lived");
  expect_refused(state, despawned(kCow), "never lived");
  expect_refused(state, {.passing = {kPig}}, "it lives");
  expect_refused(state, {.passing = {newer}}, "generation 2 lives");
  // Each behind something that would have changed the state.
  TickMutations tick = spawned(kCow);
  tick.inserts = {{newer, 1, bytes("x"), 0}};
  expect_refused(state, tick, "insert of entity");
  tick = spawned(kCow);
  tick.removals = {{older, 1, 0}};
  expect_refused(state, tick, "removal of entity");
  tick = despawned(kPig);
  tick.moves = {{kPig, std::nullopt, 0}};
  expect_refused(state, tick, "it does not live");
  tick = despawned(kPig);
  tick.spawns = {{.entity = kPig}};
  expect_refused(state, tick, "despawned in the same tick");
  tick = {.passing = {make_entity(9, 4)}, .spawns = {{.entity = make_entity(9, 3)}}};
  expect_refused(state, tick, "used up in the same tick");
  tick = {.spawns = {{.entity = make_entity(9, 3)}, {.entity = make_entity(9, 4)}}};
  expect_refused(state, tick, "another one is spawned");
  tick = {.inserts = {{kPig, 2, {}, 0}, {kPig, 1, {}, 0}}};
  expect_refused(state, tick, "not in order");
  EXPECT_TRUE(state.apply(despawned(older))) << "gone already";
  EXPECT_TRUE(state.contains(kPig));
}

TEST(EntityState, AnIndexIsFreeForTheNextGenerationInTheSameTick) {
  EntityState state;
  ASSERT_TRUE(state.apply(spawned(kPig, kHere)));
  TickRecorder recorder;
  recorder.despawn(kPig);
  recorder.spawn(make_entity(4, 3));
  const TickMutations tick = recorder.take();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(state.apply(tick));
    EXPECT_FALSE(state.contains(kPig));
    EXPECT_TRUE(state.contains(make_entity(4, 3)));
    EXPECT_FALSE(state.component(make_entity(4, 3), 1)) << "nothing of who was there before";
  }
}

RC_GTEST_PROP(EntityState, ATickTwiceIsATickOnce, (std::uint64_t seed)) {
  test::RandomGame game(seed);
  EntityState state;
  for (int i = 0; i < 10; ++i) {
    const TickMutations tick = game.play_tick(30);
    RC_ASSERT(state.apply(tick).ok());
    const EntityState once = state;
    RC_ASSERT(state.apply(tick).ok());
    RC_ASSERT(state == once);
    RC_ASSERT(state.digest() == once.digest());
  }
}

// Copies stay as they are whatever becomes of the others, and a copy that goes its own way spoils
// none.
RC_GTEST_PROP(EntityState, CopiesAreIndependent, (std::uint64_t seed)) {
  test::RandomGame game(seed);
  EntityState state;
  std::vector<EntityState> copies;
  std::vector<test::ModelWorld> worlds;
  std::vector<TickMutations> ticks;
  for (int i = 0; i < 10; ++i) {
    copies.push_back(state);
    worlds.push_back(game.world());
    ticks.push_back(game.play_tick(30));
    RC_ASSERT(state.apply(ticks.back()).ok());
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    RC_ASSERT(test::difference(copies[i], worlds[i]) == "");
    EntityState again = copies[i];
    for (std::size_t k = i; k < ticks.size(); ++k) RC_ASSERT(again.apply(ticks[k]).ok());
    RC_ASSERT(again == state);
    RC_ASSERT(again.digest() == state.digest());
    RC_ASSERT(test::difference(copies[i], worlds[i]) == "");
  }
  RC_ASSERT(test::difference(state, game.world()) == "");
}

RC_GTEST_PROP(EntityState, DigestsAreEqualIfAndOnlyIfStatesAre, (std::uint64_t seed)) {
  test::RandomGame game(seed);
  EntityState state;
  std::vector<EntityState> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(state);
    RC_ASSERT(state.apply(game.play_tick(3)).ok());
  }
  for (const EntityState& a : all) {
    for (const EntityState& b : all) RC_ASSERT((a == b) == (a.digest() == b.digest()));
  }
}

TEST(EntityState, TheAllocatorIsPartOfTheState) {
  EntityState a;
  EntityState b;
  ASSERT_TRUE(a.apply(spawned(kCow)));
  ASSERT_TRUE(a.apply(despawned(kCow)));
  EXPECT_FALSE(a == b);
  EXPECT_NE(a.digest(), b.digest());
}

TEST(EntityState, AMovedFromStateIsEmpty) {
  EntityState a;
  ASSERT_TRUE(a.apply(spawned(kCow)));
  EntityState b = std::move(a);
  EXPECT_TRUE(a == EntityState());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(b.contains(kCow));
  ASSERT_TRUE(a.apply(spawned(kPig)));
  EXPECT_FALSE(b.contains(kPig));
}

// One thread goes on while others read and copy copies, as a snapshot in the background does.
TEST(EntityState, OtherThreadsReadCopiesMeanwhile) {
  test::RandomGame game(1);
  EntityState state;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(state.apply(game.play_tick(50)));
  const EntityState copy = state;
  const std::uint64_t digest = copy.digest();
  std::vector<std::thread> readers;
  std::vector<std::uint64_t> digests(2);
  for (std::uint64_t& out : digests) {
    readers.emplace_back([&out, &copy] {
      for (int i = 0; i < 20; ++i) {
        const EntityState own = copy;
        out = own.digest();
      }
    });
  }
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(state.apply(game.play_tick(50)));
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(digests, std::vector<std::uint64_t>(2, digest));
  EXPECT_EQ(test::difference(state, game.world()), "");
}

}  // namespace
}  // namespace varve
