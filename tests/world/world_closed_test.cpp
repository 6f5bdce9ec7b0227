// A world that is closed.
#include <gtest/gtest.h>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(50, 50);

Entity cow_in(const ChunkPos& pos) { return {.id = 5, .owner = pos, .data = text("cow")}; }

TEST(WorldClosed, RefusesEverythingPolitely) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(world.request(kThere));
  ASSERT_TRUE(world.set_window(1, {.centre = kThere, .radius = {1, 1}}));
  ASSERT_TRUE(world.close());
  const auto is_refused = [](const auto& result) {
    return !result && result.error().code() == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(world.close()) << "once more is fine";
  EXPECT_TRUE(is_refused(flat.set(kHere, 0, 10)));
  EXPECT_TRUE(is_refused(world.edit<RawChunk>(kHere, [](RawChunk&) {})));
  EXPECT_TRUE(is_refused(world.put(kHere, flat_chunk(1))));
  EXPECT_TRUE(is_refused(world.erase(kHere)));
  EXPECT_TRUE(is_refused(world.regenerate(kHere)));
  EXPECT_TRUE(is_refused(world.load_now({77, 77})));
  EXPECT_TRUE(is_refused(world.request(kHere)));
  EXPECT_TRUE(is_refused(world.set_window(1, {})));
  EXPECT_TRUE(is_refused(world.put_entity(cow_in(kHere))));
  EXPECT_TRUE(is_refused(world.erase_entity(5)));
  EXPECT_TRUE(is_refused(world.load_entity(5)));
  EXPECT_TRUE(is_refused(world.put_player("p", {})));
  EXPECT_TRUE(is_refused(world.erase_player("p")));
  EXPECT_TRUE(is_refused(world.load_player("p")));
  EXPECT_TRUE(is_refused(world.put_global("p", {})));
  EXPECT_TRUE(is_refused(world.erase_global("p")));
  EXPECT_TRUE(is_refused(world.load_global("p")));
  EXPECT_TRUE(is_refused(world.player_left("p").wait()));
  EXPECT_TRUE(is_refused(world.save().wait()));
  EXPECT_TRUE(is_refused(world.save_to(fresh_memory_path()).wait()));
  EXPECT_TRUE(is_refused(world.pin()));
  world.remove_window(1);
  world.evict(kHere);
  world.set_memory_budget(1);
  EXPECT_TRUE(world.update(1000).loaded.empty());
  (void)world.get(kHere);
  EXPECT_EQ(world.state(kThere), ChunkState::absent) << "nothing loads any more";
  (void)world.entities_in(kHere);
  (void)world.new_entity_id();
  const std::uint64_t tick = world.current_tick();
  EXPECT_EQ(world.tick(), tick);
  EXPECT_FALSE(world.is_saving());
  const Telemetry last = world.telemetry();
  EXPECT_EQ(last.dirty_record_count, 0U);
  EXPECT_EQ(last.loads_in_flight, 0U);
  EXPECT_EQ(last.encode_count, 1U) << "counts stay";
  EXPECT_EQ(last.save_count, 1U);
}

}  // namespace
}  // namespace varve::test
