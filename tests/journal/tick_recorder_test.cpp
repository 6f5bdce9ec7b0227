#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model_world.h"
#include "varve/tick.h"

namespace varve {
namespace {

Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }

constexpr EntityId kCow = make_entity(3, 0);
constexpr EntityId kPig = make_entity(4, 2);
const ChunkPos kHere(1, 2);

TEST(TickRecorder, TheLastInsertWins) {
  TickRecorder recorder;
  recorder.insert(kCow, 1, bytes("a"));
  recorder.insert(kCow, 1, bytes("b"));
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.inserts, (std::vector<InsertMutation>{{kCow, 1, bytes("b"), 0}}));
  EXPECT_EQ(tick.count(), 1u);
  EXPECT_TRUE(recorder.take().empty());
}

TEST(TickRecorder, OfInsertAndRemoveTheLaterOneStays) {
  TickRecorder recorder;
  recorder.insert(kCow, 1, bytes("a"));
  recorder.remove(kCow, 1);
  recorder.remove(kCow, 2);
  recorder.insert(kCow, 2, bytes("b"));
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.removals, (std::vector<RemovalMutation>{{kCow, 1, 0}}));
  EXPECT_EQ(tick.inserts, (std::vector<InsertMutation>{{kCow, 2, bytes("b"), 0}}));
}

TEST(TickRecorder, WhatASpawnedEntityGetsIsPartOfItsSpawn) {
  TickRecorder recorder;
  recorder.spawn(kCow, ChunkPos(0, 0));
  recorder.insert(kCow, 2, bytes("b"));
  recorder.insert(kCow, 1, bytes("a"));
  recorder.insert(kCow, 3, bytes("c"));
  recorder.remove(kCow, 3);
  recorder.move(kCow, kHere);
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.spawns,
            (std::vector<SpawnMutation>{{kCow, kHere, {{1, bytes("a")}, {2, bytes("b")}}, 0}}));
  EXPECT_EQ(tick.count(), 3u);
}

TEST(TickRecorder, ADespawnDropsWhatWasNotedBefore) {
  TickRecorder recorder;
  recorder.insert(kCow, 1, bytes("a"));
  recorder.remove(kCow, 2);
  recorder.move(kCow, kHere);
  recorder.despawn(kCow);
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.despawns, (std::vector<DespawnMutation>{{kCow, 0}}));
  EXPECT_EQ(tick.count(), 1u);
}

TEST(TickRecorder, WhoCameAndWentIsPassing) {
  TickRecorder recorder;
  recorder.spawn(kPig, kHere);
  recorder.insert(kPig, 1, bytes("a"));
  recorder.despawn(kPig);
  EXPECT_EQ(recorder.take().passing, std::vector<EntityId>{kPig});

  // The later ones speak for those before them.
  recorder.spawn(make_entity(9, 1));
  recorder.despawn(make_entity(9, 1));
  recorder.spawn(make_entity(9, 2));
  recorder.despawn(make_entity(9, 2));
  recorder.spawn(make_entity(10, 1));
  recorder.despawn(make_entity(10, 1));
  recorder.spawn(make_entity(10, 2));
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.passing, std::vector<EntityId>{make_entity(9, 2)});
  EXPECT_EQ(tick.spawns.size(), 1u);
}

TEST(TickRecorder, AMutationAfterTheDespawnIsKeptForWhoAppliesIt) {
  TickRecorder recorder;
  recorder.despawn(kCow);
  recorder.insert(kCow, 1, bytes("a"));
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.despawns.size(), 1u);
  EXPECT_EQ(tick.inserts.size(), 1u);
}

TEST(TickRecorder, APutDropsEarlierEditsOfItsChunk) {
  TickRecorder recorder;
  const ChunkPos other(5, 5);
  recorder.edit_chunk(kHere, bytes("1"));
  recorder.edit_chunk(other, bytes("2"));
  recorder.put_chunk(kHere, bytes("whole"));
  recorder.edit_chunk(kHere, bytes("4"));
  recorder.edit_chunk(kHere, bytes("3"));
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.puts, (std::vector<ChunkPut>{{kHere, bytes("whole"), 0}}));
  EXPECT_EQ(tick.edits,
            (std::vector<ChunkEdit>{
                {kHere, bytes("4"), 0}, {kHere, bytes("3"), 0}, {other, bytes("2"), 0}}));
}

TEST(TickRecorder, OnlyTheFirstImageCounts) {
  TickRecorder recorder;
  recorder.add_image(kHere, std::nullopt);
  recorder.add_image(kHere, bytes("later"));
  const TickMutations tick = recorder.take();
  EXPECT_EQ(tick.images, (std::vector<ChunkImage>{{kHere, std::nullopt}}));
  EXPECT_EQ(tick.count(), 0u);
  EXPECT_FALSE(tick.empty()) << "an image has to be logged";
}

TEST(TickRecorder, AuthorsAreThoseWhoseDoingsAreLeft) {
  TickRecorder recorder;
  recorder.set_author("zoe");
  recorder.edit_chunk(kHere, bytes("1"));
  recorder.set_author("bob");
  recorder.insert(kCow, 1, bytes("a"));
  recorder.set_author("ann");
  recorder.insert(kCow, 1, bytes("b"));
  recorder.set_author("");
  recorder.put_player("zoe", std::nullopt);
  recorder.set_author("ann");
  TickMutations tick = recorder.take();
  EXPECT_EQ(tick.authors, (std::vector<std::string>{"ann", "zoe"}));
  EXPECT_EQ(tick.inserts[0].author, 1u);
  EXPECT_EQ(tick.edits[0].author, 2u);
  EXPECT_EQ(tick.players[0].author, 0u);

  recorder.despawn(kCow);
  tick = recorder.take();
  EXPECT_EQ(tick.authors, std::vector<std::string>{"ann"}) << "the author stays";
  EXPECT_EQ(tick.despawns[0].author, 1u);
}

RC_GTEST_PROP(TickRecorder, ATickDoesWhatHappenedInIt, (std::uint64_t seed)) {
  test::RandomGame game(seed);
  EntityState state;
  test::ModelWorld chunks;
  for (int i = 0; i < 12; ++i) {
    const TickMutations tick = game.play_tick(40);
    const Status applied = state.apply(tick);
    if (!applied) RC_FAIL(applied.error().message());
    RC_ASSERT(test::difference(state, game.world()) == "");
    chunks.apply_chunks(tick);
  }
  for (const auto& [pos, chunk] : chunks.chunks) RC_ASSERT(game.world().chunks.at(pos) == chunk);
}

}  // namespace
}  // namespace varve
