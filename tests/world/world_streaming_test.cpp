// What is in memory and when: requests, windows, eviction, the memory budget.
#include <gtest/gtest.h>

#include <mutex>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(50, 50);

StoreControl::CommitHook failing_commits() {
  return [](const Commit&) -> Status { return out_of_space("the disk is full"); };
}

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

// --- Eviction ----------------------------------------------------------------------------

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

// --- Windows -----------------------------------------------------------------------------

TEST(WorldWindows, LoadNearestFirstAndEvictWhatGoesOut) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_TRUE(flat.world->set_window(1, {.centre = {0, 0}, .radius = {2, 2}, .keep_margin = 1}));
  watch.settle_loads();
  EXPECT_EQ(watch.loaded.size(), 25U);
  EXPECT_EQ(flat.world->telemetry().resident_chunk_count, 25U);
  ASSERT_TRUE(flat.set({-2, 0}, 0, 9));
  // One step: the margin holds what is just outside.
  ASSERT_TRUE(flat.world->set_window(1, {.centre = {1, 0}, .radius = {2, 2}, .keep_margin = 1}));
  watch.settle_loads();
  EXPECT_EQ(watch.loaded.size(), 30U);
  EXPECT_TRUE(watch.evicted.empty());
  // Two more: it is gone, and what was dirty is stored.
  ASSERT_TRUE(flat.world->set_window(1, {.centre = {3, 0}, .radius = {2, 2}, .keep_margin = 1}));
  watch.settle_loads();
  watch.update_until_absent({-2, 0});
  watch.update();
  EXPECT_EQ(watch.evicted.size(), 10U) << "the columns -2 and -1";
  EXPECT_EQ(flat.stored_at({-2, 0}, 0), 9);
  EXPECT_EQ(flat.world->telemetry().resident_chunk_count, 30U);
  EXPECT_EQ(flat.world->telemetry().evicted_count, 10U);
}

TEST(WorldWindows, NearChunksComeBeforeFarOnes) {
  Gate gate;
  std::mutex mutex;
  std::vector<ChunkPos> order;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_read_chunk([&](const ChunkPos& pos) -> Status {
    if (pos == kThere) gate.pass();
    const std::lock_guard lock(mutex);
    order.push_back(pos);
    return {};
  });
  ASSERT_TRUE(flat.world->request(kThere, 1000));
  gate.wait_for_arrivals(1);
  // Asked for before, as not urgent at all: the window is not held up by that.
  ASSERT_TRUE(flat.world->request(ChunkPos(0), -1'000'000));
  ASSERT_TRUE(flat.world->set_window(
      1, {.centre = ChunkPos(0), .radius = {2}, .look_ahead = {3}, .keep_margin = 0}));
  gate.open();
  watch.settle_loads();
  ASSERT_EQ(order.size(), 9U);
  EXPECT_EQ(order[0], kThere);
  EXPECT_EQ(order[1], ChunkPos(0));
  for (std::size_t i = 2; i + 1 < order.size(); ++i)
    EXPECT_LE(std::abs(order[i][0]), std::abs(order[i + 1][0]));
  EXPECT_EQ(order.back(), ChunkPos(5));
}

TEST(WorldWindows, WhatAMoveLeavesBehindIsNotLoadedAnyMore) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_read_chunk([&](const ChunkPos&) {
    gate.pass();
    return Status();
  });
  const Window here{.centre = ChunkPos(0), .radius = {3}, .keep_margin = 0};
  const Window there{.centre = ChunkPos(1000), .radius = {1}, .keep_margin = 0};
  ASSERT_TRUE(flat.world->set_window(1, here));
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.world->set_window(1, there));
  gate.open();
  watch.settle_loads();
  EXPECT_EQ(watch.loaded.size(), 3U);
  for (const ChunkPos& pos : watch.loaded) EXPECT_GE(pos[0], 999);
  EXPECT_EQ(flat.control.read_chunk_count, 4U);
  EXPECT_EQ(flat.world->telemetry().resident_chunk_count, 3U);
}

TEST(WorldWindows, OverlapKeepsWhatAnyOfThemHolds) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  const auto window_at = [](std::int32_t x) {
    return Window{.centre = ChunkPos(x), .radius = {2}, .keep_margin = 0};
  };
  ASSERT_TRUE(flat.world->set_window(1, window_at(0)));
  ASSERT_TRUE(flat.world->set_window(2, window_at(2)));
  watch.settle_loads();
  EXPECT_EQ(watch.loaded.size(), 7U) << "none of them twice";
  ASSERT_TRUE(flat.world->set_window(1, window_at(100)));
  watch.settle_loads();
  EXPECT_EQ(flat.world->state(ChunkPos(-1)), ChunkState::absent);
  for (int x = 0; x <= 4; ++x) EXPECT_EQ(flat.world->state(ChunkPos(x)), ChunkState::clean) << x;
  flat.world->remove_window(2);
  flat.world->remove_window(2);
  flat.world->remove_window(77);
  for (int x = 0; x <= 4; ++x) EXPECT_EQ(flat.world->state(ChunkPos(x)), ChunkState::absent) << x;
  EXPECT_EQ(flat.world->telemetry().resident_chunk_count, 5U);
  watch.update();
  EXPECT_EQ(watch.evicted.size(), 7U);
}

TEST(WorldWindows, RemovingOneCallsItsLoadsOffAndStoresWhatIsDirty) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_TRUE(flat.world->set_window(1, {.centre = kHere, .radius = {1, 1}}));
  watch.settle_loads();
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(flat.world->put_entity({.id = 5, .owner = kHere, .data = text("cow")}));
  flat.world->remove_window(1);
  watch.update_until_absent(kHere);
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
  EXPECT_FALSE(flat.world->entity(5));
  EXPECT_EQ(flat.world->telemetry().resident_chunk_count, 0U);
  EXPECT_EQ(flat.world->telemetry().resident_size, 0U);
}

TEST(WorldWindows, WorkInOneToFourDimensionsAndInOtherSpaces) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  const Space nether = *Space::named("the_nether");
  const ChunkPos centres[] = {ChunkPos(0), ChunkPos(0, 0), ChunkPos(0, 0, 0), ChunkPos(0, 0, 0, 0),
                              ChunkPos(0, 0).in(nether)};
  std::size_t expected = 0;
  for (std::uint64_t i = 0; i < std::size(centres); ++i) {
    const Window window{.centre = centres[i], .radius = {1, 1, 1, 1}, .keep_margin = 0};
    ASSERT_TRUE(flat.world->set_window(i, window));
    std::size_t volume = 1;
    for (std::size_t axis = 0; axis < centres[i].coordinate_count; ++axis) volume *= 3;
    expected += volume;
  }
  watch.settle_loads();
  EXPECT_EQ(watch.loaded.size(), expected);
  // A player who changes dimensions takes the window along.
  ASSERT_TRUE(flat.world->set_window(
      1, {.centre = ChunkPos(0, 0).in(nether), .radius = {1, 1}, .keep_margin = 0}));
  EXPECT_EQ(flat.world->state(ChunkPos(0, 0)), ChunkState::absent);
  EXPECT_EQ(flat.world->state(ChunkPos(0, 0).in(nether)), ChunkState::clean);
  EXPECT_EQ(flat.world->state(ChunkPos(0, 0, 0)), ChunkState::clean);
}

TEST(WorldWindows, ABadOneIsRefusedAndChangesNothing) {
  FlatWorld flat(quiet_options());
  const auto refused = [&](const Window& window) {
    const Status status = flat.world->set_window(1, window);
    return !status && status.error().code() == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused({.radius = {-1, 0}}));
  EXPECT_TRUE(refused({.radius = {5000, 5000}}));
  EXPECT_TRUE(refused({.keep_margin = -1}));
  EXPECT_EQ(flat.world->telemetry().loads_in_flight, 0U);
}

TEST(WorldWindows, ADirtyChunkInsideCanBeEvictedLikeACleanOne) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_TRUE(flat.world->set_window(1, {.centre = kHere, .radius = {1, 1}}));
  watch.settle_loads();
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  flat.world->evict(kHere);
  watch.update_until([&] { return flat.stored_at(kHere, 0) == 9; });
  watch.update_until([&] { return flat.world->telemetry().dirty_record_count == 0; });
  watch.update();
  EXPECT_EQ(flat.world->state(kHere), ChunkState::absent);
}

TEST(WorldWindows, AChunkThatIsLeavingStaysIfItsMarginComesBackOverIt) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  const auto window_at = [](std::int32_t x) {
    return Window{.centre = ChunkPos(x), .radius = {1}, .keep_margin = 1};
  };
  ASSERT_TRUE(flat.world->set_window(1, window_at(0)));
  watch.settle_loads();
  ASSERT_TRUE(flat.set(ChunkPos(-1), 0, 9));
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(flat.world->set_window(1, window_at(2)));
  watch.update();
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(flat.world->set_window(1, window_at(1)));
  gate.open();
  watch.settle_loads();
  watch.update_until([&] { return flat.world->telemetry().dirty_record_count == 0; });
  watch.update();
  EXPECT_EQ(flat.world->state(ChunkPos(-1)), ChunkState::persisted);
}

TEST(WorldWindows, EntitiesLeaveWithTheirChunkAndComeBackWithIt) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  const Window here{.centre = kHere, .radius = {1, 1}, .keep_margin = 0};
  const Window there{.centre = kThere, .radius = {1, 1}, .keep_margin = 0};
  ASSERT_TRUE(flat.world->set_window(1, here));
  watch.settle_loads();
  ASSERT_TRUE(flat.world->put_entity({.id = 5, .owner = kHere, .data = text("cow")}));
  ASSERT_TRUE(flat.world->put_entity({.id = 6, .data = text("weather")}));
  ASSERT_TRUE(flat.world->set_window(1, there));
  watch.update_until_absent(kHere);
  EXPECT_FALSE(flat.world->entity(5));
  EXPECT_TRUE(flat.world->entity(6)) << "it stands nowhere";
  ASSERT_TRUE(flat.world->set_window(1, here));
  watch.settle_loads();
  ASSERT_EQ(flat.world->entities_in(kHere).size(), 1U);
  EXPECT_EQ(flat.world->entity(5)->data, text("cow"));
}

TEST(WorldWindows, AnEntityThatWalksOutIsSavedAndDropped) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_TRUE(flat.world->set_window(1, {.centre = kHere, .radius = {1, 1}, .keep_margin = 0}));
  watch.settle_loads();
  ASSERT_TRUE(flat.world->put_entity({.id = 5, .owner = kHere, .data = text("cow")}));
  ASSERT_TRUE(flat.world->put_entity({.id = 5, .owner = kThere, .data = text("cow")}));
  watch.update_until([&] { return !flat.world->entity(5).has_value(); });
  const auto stored = flat.world->store().read_entity(5);
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((*stored)->owner, kThere);
  EXPECT_TRUE(flat.world->entities_in(kHere).empty());
  EXPECT_EQ(flat.world->state(kHere), ChunkState::clean) << "it left alone";
}

// --- The memory budget -------------------------------------------------------------------

std::size_t size_of_one_chunk() {
  FlatWorld flat(quiet_options());
  (void)flat.at(kHere, 0);
  return flat.world->telemetry().resident_size;
}

TEST(WorldMemoryBudget, HoldsOnceSavesAreDoneAndLosesNothing) {
  WorldOptions options = quiet_options();
  options.memory_budget_size = 10 * size_of_one_chunk();
  FlatWorld flat(options);
  StreamWatch watch(flat);
  for (int x = 0; x < 100; ++x) {
    ASSERT_EQ(flat.at({x, 0}, 0), 7);
    const bool edited = x % 2 == 0;
    ASSERT_TRUE(!edited || flat.set({x, 0}, 0, static_cast<std::uint8_t>(100 + x)));
  }
  watch.update_until(
      [&] { return flat.world->telemetry().resident_size <= options.memory_budget_size; });
  EXPECT_GE(flat.world->telemetry().resident_chunk_count, 5U);
  for (int x = 0; x < 100; ++x) ASSERT_EQ(flat.at({x, 0}, 0), x % 2 == 0 ? 100 + x : 7);
}

TEST(WorldMemoryBudget, NeverDropsWhatIsDirtyWhileTheStoreFails) {
  WorldOptions options = quiet_options();
  options.memory_budget_size = 1;
  FlatWorld flat(options);
  StreamWatch watch(flat);
  flat.control.before_commit(failing_commits());
  for (int x = 0; x < 20; ++x) {
    ASSERT_EQ(flat.at({x, 0}, 0), 7);
    ASSERT_TRUE(flat.set({x, 0}, 0, 9));
  }
  for (int i = 0; i < 50; ++i) watch.update(1);
  EXPECT_EQ(flat.world->telemetry().resident_chunk_count, 20U);
  flat.control.before_commit({});
  // Time goes on: a commit that was under way may fail yet, and make the next one wait.
  watch.update_until([&] {
    watch.update(1000);
    return flat.world->telemetry().resident_chunk_count == 0;
  });
  for (int x = 0; x < 20; ++x) EXPECT_EQ(flat.stored_at({x, 0}, 0), 9);
}

TEST(WorldMemoryBudget, LeavesWindowsAlone) {
  WorldOptions options = quiet_options();
  options.memory_budget_size = 1;
  FlatWorld flat(options);
  StreamWatch watch(flat);
  ASSERT_TRUE(flat.world->set_window(1, {.centre = kHere, .radius = {2, 2}}));
  ASSERT_TRUE(flat.world->request(kThere));
  watch.settle_loads();
  watch.update_until([&] { return flat.world->state(kThere) == ChunkState::absent; });
  for (int i = 0; i < 10; ++i) watch.update();
  EXPECT_EQ(flat.world->telemetry().resident_chunk_count, 25U);
  // And may be changed while running.
  flat.world->set_memory_budget(0);
  ASSERT_EQ(flat.at(kThere, 0), 7);
  for (int i = 0; i < 10; ++i) watch.update();
  EXPECT_EQ(flat.world->state(kThere), ChunkState::clean);
}

TEST(WorldMemoryBudget, DropsNoMoreThanItMustWhileSavesAreUnderWay) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  StreamWatch watch(flat);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  constexpr int kCount = 40;
  for (int x = 0; x < kCount; ++x) {
    ASSERT_EQ(flat.at({x, 0}, 0), 7);
    ASSERT_TRUE(flat.set({x, 0}, 0, 9));
  }
  flat.world->set_memory_budget(30 * size_of_one_chunk());
  for (int i = 0; i < 100; ++i) watch.update();
  gate.open();
  watch.update_until([&] { return flat.world->telemetry().resident_chunk_count <= 30; });
  for (int i = 0; i < 100; ++i) watch.update();
  EXPECT_GE(flat.world->telemetry().resident_chunk_count, 25U);
}

TEST(WorldMemoryBudget, DropsTheLongestUnusedFirst) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  for (int x = 0; x < 40; ++x) ASSERT_EQ(flat.at({x, 0}, 0), 7);
  // One chunk too many again and again: the hand goes round and finds what nobody used.
  for (int x = 40; x < 60; ++x) {
    flat.world->set_memory_budget(40 * size_of_one_chunk());
    for (int used = 0; used < 10; ++used) ASSERT_TRUE(flat.world->get({used, 0}));
    ASSERT_EQ(flat.at({x, 0}, 0), 7);
    watch.update_until([&] { return flat.world->telemetry().resident_chunk_count <= 40; });
  }
  for (int used = 0; used < 10; ++used) EXPECT_TRUE(flat.world->get({used, 0})) << used;
}

// --- Figures -----------------------------------------------------------------------------

TEST(WorldStreamingTelemetry, AddsUp) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  ASSERT_TRUE(flat.world->set_window(1, {.centre = kHere, .radius = {1, 1}, .keep_margin = 0}));
  watch.settle_loads();
  EXPECT_FALSE(flat.world->get(kThere));
  EXPECT_TRUE(flat.world->get(kHere));
  flat.world->remove_window(1);
  const Telemetry now = flat.world->telemetry();
  EXPECT_EQ(now.load_count, 9U);
  EXPECT_EQ(now.generated_count, 9U);
  EXPECT_EQ(now.load_failure_count, 0U);
  EXPECT_EQ(now.evicted_count, 9U);
  EXPECT_EQ(now.hit_count, 1U);
  EXPECT_EQ(now.miss_count, 1U);
  EXPECT_EQ(now.resident_chunk_count, 0U);
  EXPECT_EQ(now.resident_size, 0U);
  EXPECT_EQ(now.loads_in_flight, 0U);
  EXPECT_EQ(now.commit_count, 0U);
  EXPECT_EQ(now.dirty_record_count, 0U);
}

}  // namespace
}  // namespace varve::test
