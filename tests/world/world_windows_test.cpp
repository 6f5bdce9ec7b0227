// Windows, the memory budget, and the figures of streaming.
#include <gtest/gtest.h>

#include <mutex>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(50, 50);

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
