// Loads that are asked for, and those that come late.
#include <gtest/gtest.h>

#include <mutex>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(50, 50);

// --- Requests ----------------------------------------------------------------------------

TEST(WorldRequests, TheMostUrgentIsLoadedFirstAndAskingAgainRaises) {
  Gate gate;
  std::mutex mutex;
  std::vector<ChunkPos> order;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_read_chunk([&](const ChunkPos& pos) -> Status {
    {
      const std::lock_guard lock(mutex);
      order.push_back(pos);
    }
    if (pos == kHere) gate.pass();
    return {};
  });
  ASSERT_TRUE(flat.world->request(kHere));
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.world->request({1, 0}, 1));
  ASSERT_TRUE(flat.world->request({2, 0}, 5));
  ASSERT_TRUE(flat.world->request({3, 0}, -3));
  ASSERT_TRUE(flat.world->request({4, 0}, 5));
  ASSERT_TRUE(flat.world->request({1, 0}, 10));
  ASSERT_TRUE(flat.world->request({1, 0}, 2)) << "asking for less leaves it as it is";
  EXPECT_EQ(flat.world->state({1, 0}), ChunkState::loading);
  EXPECT_EQ(flat.world->telemetry().loads_in_flight, 5U);
  gate.open();
  watch.settle_loads();
  EXPECT_EQ(order, (std::vector<ChunkPos>{kHere, {1, 0}, {2, 0}, {4, 0}, {3, 0}}));
  EXPECT_EQ(watch.loaded.size(), 5U);
}

TEST(WorldRequests, AChunkInMemoryIsReportedByTheNextUpdate) {
  FlatWorld flat(quiet_options());
  ASSERT_EQ(flat.at(kHere, 0), 7);
  const std::uint64_t reads = flat.control.read_chunk_count;
  ASSERT_TRUE(flat.world->request(kHere));
  EXPECT_EQ(flat.world->update(0).loaded, std::vector<ChunkPos>{kHere});
  EXPECT_TRUE(flat.world->update(0).loaded.empty());
  EXPECT_EQ(flat.control.read_chunk_count, reads);
}

TEST(WorldRequests, AFailedLoadIsReportedOnceAndMayBeAskedForAgain) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  flat.control.before_read_chunk([](const ChunkPos&) -> Status { return io_error("unplugged"); });
  ASSERT_TRUE(flat.world->request(kHere));
  watch.settle_loads();
  for (int i = 0; i < 3; ++i) watch.update();
  ASSERT_EQ(watch.failed.size(), 1U);
  EXPECT_EQ(watch.failed[0].pos, kHere);
  EXPECT_EQ(watch.failed[0].error.code(), ErrorCode::io);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::absent);
  EXPECT_EQ(flat.world->telemetry().load_failure_count, 1U);
  ASSERT_TRUE(flat.world->telemetry().last_error);
  flat.control.before_read_chunk({});
  ASSERT_TRUE(flat.world->request(kHere));
  watch.settle_loads();
  EXPECT_TRUE(watch.has_loaded(kHere));
  EXPECT_EQ(flat.world->telemetry().load_count, 1U);
}

TEST(WorldRequests, EvictingWhatIsOnlyAskedForCallsItOff) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_read_chunk([&](const ChunkPos&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(flat.world->request(kHere));
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.world->request(kThere));
  flat.world->evict(kHere);   // has begun
  flat.world->evict(kThere);  // has not
  EXPECT_EQ(flat.world->state(kHere), ChunkState::absent);
  gate.open();
  ASSERT_TRUE(flat.world->request({9, 9}));
  watch.settle_loads();
  EXPECT_EQ(watch.loaded, (std::vector<ChunkPos>{{9, 9}}));
  EXPECT_TRUE(watch.evicted.empty()) << "neither was ever in memory";
  EXPECT_EQ(flat.control.read_chunk_count, 2U);
}

TEST(WorldRequests, AReportNamesNothingThatIsNotInMemoryNow) {
  FlatWorld flat(quiet_options());
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.world->request(kHere));
  flat.world->evict(kHere);
  const UpdateReport& gone = flat.world->update(0);
  EXPECT_TRUE(gone.loaded.empty());
  EXPECT_EQ(gone.evicted, std::vector<ChunkPos>{kHere});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  flat.world->evict(kHere);
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_TRUE(flat.world->update(0).evicted.empty()) << "it is back";
}

TEST(WorldRequests, AReportStaysAsItIsUntilTheNextUpdate) {
  FlatWorld flat(quiet_options());
  for (int x = 0; x < 3; ++x) ASSERT_EQ(flat.at({x, 0}, 0), 7);
  flat.world->evict({0, 0});
  const UpdateReport& report = flat.world->update(0);
  ASSERT_EQ(report.evicted.size(), 1U);
  flat.world->evict({1, 0});
  flat.world->evict({2, 0});
  EXPECT_EQ(report.evicted.size(), 1U);
  EXPECT_EQ(flat.world->update(0).evicted.size(), 2U);
}

TEST(WorldRequests, APutChunkIsLoadedWithItsStoredEntities) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_TRUE(flat.world->put_entity({.id = 5, .owner = kHere, .data = text("cow")}));
  ASSERT_TRUE(flat.world->save().wait());
  flat.world->evict(kHere);
  ASSERT_FALSE(flat.world->entity(5));
  // The game makes the chunk anew without ever having loaded it.
  ASSERT_TRUE(flat.world->put(kHere, flat_chunk(3)));
  ASSERT_TRUE(flat.world->request(kHere));
  watch.update_until([&] { return watch.has_loaded(kHere); });
  EXPECT_TRUE(flat.world->entity(5)) << "loaded means: with its entities";
  EXPECT_EQ(flat.at(kHere, 0), 3);
}

// --- Loads that come late ----------------------------------------------------------------

// A world whose next load of kHere stops with what it read in its hands.
struct LateLoad {
  LateLoad() : flat(quiet_options()), watch(flat) {
    EXPECT_EQ(flat.at(kHere, 0), 7);
    EXPECT_TRUE(flat.set(kHere, 0, 10));
    EXPECT_TRUE(flat.world->put_entity({.id = 5, .owner = kHere, .data = text("cow")}));
    EXPECT_TRUE(flat.world->save().wait());
    flat.world->evict(kHere);
    flat.control.after_read_entities_of([this](const ChunkPos& pos) {
      if (pos == kHere && is_load_thread()) gate.pass();
    });
    EXPECT_TRUE(flat.world->request(kHere));
    gate.wait_for_arrivals(1);
  }
  ~LateLoad() { gate.open(); }

  bool is_load_thread() const { return std::this_thread::get_id() != game_thread; }
  void let_it_come() {
    gate.open();
    watch.settle_loads();
  }

  std::thread::id game_thread = std::this_thread::get_id();
  Gate gate;
  FlatWorld flat;
  StreamWatch watch;
};

TEST(WorldLateLoads, DoNotReplaceWhatWasEditedMeanwhile) {
  LateLoad late;
  ASSERT_EQ(late.flat.at(kHere, 0), 10);
  ASSERT_TRUE(late.flat.set(kHere, 0, 11));
  late.let_it_come();
  EXPECT_TRUE(late.watch.has_loaded(kHere));
  EXPECT_EQ(late.flat.at(kHere, 0), 11);
  EXPECT_EQ(late.flat.world->state(kHere), ChunkState::dirty);
}

TEST(WorldLateLoads, DoNotReplaceWhatWasPut) {
  LateLoad late;
  ASSERT_TRUE(late.flat.world->put(kHere, flat_chunk(12)));
  EXPECT_EQ(late.flat.world->state(kHere), ChunkState::dirty);
  late.let_it_come();
  EXPECT_EQ(late.flat.at(kHere, 0), 12);
  EXPECT_TRUE(late.flat.world->entity(5)) << "its entities come with it";
}

TEST(WorldLateLoads, DoNotBringBackWhatWasChangedSavedAndEvicted) {
  LateLoad late;
  ASSERT_TRUE(late.flat.world->put(kHere, flat_chunk(12)));
  ASSERT_TRUE(late.flat.world->save().wait());
  late.flat.world->evict(kHere);
  ASSERT_EQ(late.flat.world->state(kHere), ChunkState::absent);
  ASSERT_TRUE(late.flat.world->request(kHere));
  late.let_it_come();
  EXPECT_EQ(late.flat.at(kHere, 0), 12);
}

TEST(WorldLateLoads, DoNotBringBackAnErasedChunk) {
  for (const bool saved : {false, true}) {
    LateLoad late;
    ASSERT_TRUE(late.flat.world->erase(kHere));
    if (saved) {
      ASSERT_TRUE(late.flat.world->save().wait());
      late.watch.update();
    }
    late.let_it_come();
    EXPECT_TRUE(late.watch.has_loaded(kHere));
    EXPECT_EQ(late.flat.at(kHere, 0), 7) << "saved: " << saved;
    EXPECT_TRUE(late.flat.world->entity(5)) << "its entities stay";
    ASSERT_TRUE(late.flat.world->save().wait());
    EXPECT_EQ(late.flat.stored_at(kHere, 0), -1);
  }
}

TEST(WorldLateLoads, DoNotBringBackAnEntityThatWentElsewhere) {
  LateLoad late;
  World& world = *late.flat.world;
  ASSERT_TRUE(world.put_entity({.id = 5, .owner = kThere, .data = text("cow")}));
  ASSERT_TRUE(world.save().wait());
  world.evict(kThere);
  ASSERT_FALSE(world.entity(5)) << "stored, and gone with the chunk it went to";
  late.let_it_come();
  EXPECT_TRUE(late.watch.has_loaded(kHere));
  EXPECT_TRUE(world.entities_in(kHere).empty());
  const auto loaded = world.load_entity(5);
  ASSERT_TRUE(loaded && *loaded);
  EXPECT_EQ((*loaded)->owner, kThere);
}

TEST(WorldLateLoads, DoNotBringBackAnErasedEntity) {
  for (const bool saved : {false, true}) {
    LateLoad late;
    World& world = *late.flat.world;
    ASSERT_TRUE(world.erase_entity(5));
    if (saved) {
      ASSERT_TRUE(world.save().wait());
      late.watch.update();
    }
    late.let_it_come();
    EXPECT_TRUE(late.watch.has_loaded(kHere));
    EXPECT_FALSE(world.entity(5)) << "saved: " << saved;
    EXPECT_TRUE(world.entities_in(kHere).empty());
    EXPECT_EQ(*world.load_entity(5), std::nullopt);
  }
}

TEST(WorldLateLoads, DoNotUndoAnEntityThatChangedInPlace) {
  LateLoad late;
  World& world = *late.flat.world;
  ASSERT_TRUE(world.put_entity({.id = 5, .owner = kHere, .data = text("bull")}));
  late.let_it_come();
  ASSERT_EQ(world.entities_in(kHere).size(), 1U);
  EXPECT_EQ(world.entity(5)->data, text("bull"));
}

TEST(WorldLateLoads, ThatFailDoNotDamageWhatWasPutMeanwhile) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_read_chunk([&](const ChunkPos&) -> Status {
    gate.pass();
    return corruption("a flipped bit");
  });
  ASSERT_TRUE(flat.world->request(kHere));
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.world->put(kHere, flat_chunk(12)));
  gate.open();
  watch.settle_loads();
  EXPECT_EQ(flat.at(kHere, 0), 12);
  EXPECT_FALSE(flat.world->regenerate(kHere)) << "the game's chunk is whole";
  EXPECT_EQ(flat.at(kHere, 0), 12);
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.control.quarantine_count, 1U) << "what it replaces was damaged";
}

}  // namespace
}  // namespace varve::test
