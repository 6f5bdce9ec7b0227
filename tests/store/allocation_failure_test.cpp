// Memory that runs out at the Nth allocation, for N = 1, 2, 3 ... until a call gets
// through.
//
// Invariants checked: nothing throws; the error is out_of_space; a commit that failed
// changed nothing, and the same commit succeeds once there is memory.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "support/allocation_watch.h"
#include "varve/format.h"

namespace varve {
namespace {

const Format& memory() { return **find_format("memory"); }

// Calls `call` with ever more memory until it succeeds; how often it failed.
template <class Call>
int failures_before(Call call, const std::function<void()>& after_failure) {
  for (int count = 0;; ++count) {
    std::optional<test::AllocationFailure> starving(std::in_place, count);
    auto result = call();
    starving.reset();
    if (result) return count;
    EXPECT_EQ(result.error().code(), ErrorCode::out_of_space) << result.error().message();
    if (result.error().code() != ErrorCode::out_of_space) return count;
    after_failure();
  }
}

TEST(AllocationFailure, ACommitHappensWhollyOrNotAtAll) {
  const auto store = memory().create("memory:starved").value();
  Progress first;
  ASSERT_TRUE(store->commit({.tick = 1,
                             .chunks = {{ChunkPos(1, 1), Bytes::copy_of("old")}},
                             .entities = {{7, EntityValue{ChunkPos(1, 1), Bytes()}}},
                             .backup_count = 2},
                            first));
  Commit commit{.tick = 2,
                .chunks = {{ChunkPos(1, 1), Bytes::copy_of("new")}},
                .entities = {{7, EntityValue{ChunkPos(2, 2), Bytes()}}, {8, EntityValue{}}},
                .players = {{"a player with a long name", Bytes()}},
                .globals = {{"sky", Bytes()}},
                .generator = GeneratorId{"a generator with a long name", 1},
                .backup_count = 2};
  for (int i = 0; i < 20; ++i) commit.chunks.push_back({ChunkPos(i), Bytes::copy_of("x")});
  const int failures = failures_before(
      [&] {
        Progress progress;
        return store->commit(commit, progress);
      },
      [&] {
        EXPECT_EQ(store->generation(), 1u);
        EXPECT_EQ(store->tick(), 1u);
        EXPECT_EQ(store->generator(), std::nullopt);
        EXPECT_EQ(store->read_chunk(ChunkPos(1, 1)).value()->text(), "old");
        EXPECT_EQ(store->read_entities_of(ChunkPos(1, 1)).value().size(), 1u);
        EXPECT_FALSE(store->read_chunk(ChunkPos(3)).value());
        EXPECT_FALSE(memory().detect("memory:starved.backup.2").value());
      });
  EXPECT_GT(failures, 20);
  EXPECT_EQ(store->generation(), 2u);
  EXPECT_EQ(store->read_entities_of(ChunkPos(2, 2)).value().size(), 1u);
}

TEST(AllocationFailure, OpeningCreatingAndReadingReportIt) {
  // Found before memory runs out: the first call of all makes the list of formats.
  const Format& format = memory();
  EXPECT_GT(failures_before([&] { return format.create("memory:a starved save"); },
                            [&] { EXPECT_FALSE(format.detect("memory:a starved save").value()); }),
            2);
  EXPECT_GT(failures_before([&] { return format.open("memory:a starved save"); }, [] {}), 0);
  const auto store = open_store("memory:a starved save").value();
  Progress progress;
  ASSERT_TRUE(store->commit(
      {.tick = 1, .entities = {{7, EntityValue{ChunkPos(1), Bytes::copy_of("x")}}}}, progress));
  EXPECT_GT(failures_before([&] { return store->pin(); }, [] {}), 0);
  EXPECT_GT(failures_before([&] { return store->read_entities_of(ChunkPos(1)); }, [] {}), 0);
  EXPECT_GT(failures_before([] { return Space::named("a space with a long, long name"); }, [] {}),
            0);
  EXPECT_GT(failures_before(
                [] { return parse_record_key("player:somebody with a long, long name"); }, [] {}),
            0);
}

}  // namespace
}  // namespace varve
