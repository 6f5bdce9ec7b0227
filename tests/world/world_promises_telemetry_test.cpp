// What the headers promise about the counts of telemetry().
#include <gtest/gtest.h>

#include <atomic>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

TEST(WorldPromises, TelemetryCountsExactly) {
  std::atomic<std::uint64_t> written_size = 0;
  FlatWorld flat;
  flat.control.after_commit([&](const Result<CommitStats>& stats) {
    if (stats) written_size += stats->written_size;
  });
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);   // a miss, generated
  ASSERT_EQ(flat.at(kHere, 0), 7);   // a hit
  ASSERT_EQ(flat.at(kThere, 0), 7);  // a miss, generated
  EXPECT_TRUE(world.get(kThere));    // a hit
  EXPECT_FALSE(world.get({9, 9}));   // a miss
  ASSERT_TRUE(world.request({5, 6}));
  flat.update_until([](const UpdateReport& report) { return !report.loaded.empty(); });
  ASSERT_TRUE(*flat.set(kHere, 0, 1));
  ASSERT_TRUE(*flat.set(kHere, 0, 2));
  ASSERT_FALSE(*flat.set(kHere, 0, 2)) << "nothing changes";
  ASSERT_FALSE(flat.set({9, 9}, 0, 1)) << "not in memory";
  ASSERT_TRUE(
      world.put({8, 8}, std::make_unique<RawChunk>(Bytes(Buffer(kFlatChunkSize).freeze()))));
  ASSERT_TRUE(world.erase(kThere));
  Telemetry telemetry = world.telemetry();
  EXPECT_EQ(telemetry.edit_count, 4U);
  EXPECT_EQ(telemetry.hit_count, 2U);
  EXPECT_EQ(telemetry.miss_count, 3U);
  EXPECT_EQ(telemetry.generated_count, 3U);
  EXPECT_EQ(telemetry.load_count, 3U);
  EXPECT_EQ(telemetry.resident_chunk_count, 3U);
  EXPECT_EQ(telemetry.dirty_chunk_count, 3U);
  EXPECT_EQ(telemetry.commit_count, 0U);
  EXPECT_EQ(telemetry.bytes_written, 0U);

  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(world.telemetry().commit_count, 1U);
  EXPECT_GE(world.telemetry().bytes_written, 2 * kFlatChunkSize);
  ASSERT_TRUE(world.put_player("anna", text("a")));
  ASSERT_TRUE(world.player_left("anna").wait());
  ASSERT_TRUE(flat.set(kHere, 0, 3));
  flat.control.before_commit([](const Commit&) { return Status(io_error("it failed")); });
  ASSERT_FALSE(world.save().wait());
  EXPECT_EQ(world.telemetry().commit_count, 2U) << "one that failed is none";
  flat.control.before_commit({});
  ASSERT_TRUE(world.save().wait());
  ASSERT_TRUE(world.save().wait()) << "nothing is new, and nothing is committed";
  // What was stored is not generated when it is loaded again.
  world.evict(kHere);
  ASSERT_EQ(flat.at(kHere, 0), 3);
  telemetry = world.telemetry();
  EXPECT_EQ(telemetry.edit_count, 5U);
  EXPECT_EQ(telemetry.hit_count, 2U);
  EXPECT_EQ(telemetry.miss_count, 4U);
  EXPECT_EQ(telemetry.generated_count, 3U);
  EXPECT_EQ(telemetry.load_count, 4U);
  EXPECT_EQ(telemetry.evicted_count, 1U);
  EXPECT_EQ(telemetry.commit_count, 3U);
  EXPECT_EQ(telemetry.save_count, 2U);
  EXPECT_EQ(telemetry.save_failure_count, 1U);
  EXPECT_EQ(telemetry.encode_count, 4U) << "two, one that was not stored, and that one again";
  EXPECT_EQ(telemetry.dirty_record_count, 0U);
  EXPECT_EQ(telemetry.bytes_written, written_size);
}

}  // namespace
}  // namespace varve::test
