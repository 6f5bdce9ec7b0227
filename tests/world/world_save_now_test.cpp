// Saves that are done when the call returns.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "world/sample_world.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);

TEST(WorldSaveNow, IsStoredWhenItReturns) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  std::thread::id saved_by;
  flat.control.before_commit([&](const Commit&) -> Status {
    saved_by = std::this_thread::get_id();
    return {};
  });
  const auto report = flat.world->save_now();
  ASSERT_TRUE(report);
  EXPECT_EQ(saved_by, std::this_thread::get_id()) << "nobody else was told";
  EXPECT_EQ(report->chunk_count, 1U);
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  EXPECT_EQ(flat.world->telemetry().dirty_chunk_count, 0U);
  const auto again = flat.world->save_now();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->generation, report->generation) << "nothing is new";
}

// Whether that one still runs when it is asked for or has just ended.
TEST(WorldSaveNow, ComesBehindTheOneThatRuns) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle first = flat.world->save();
  held.wait_until_one_is_held();
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  std::thread other([&] { held.release(); });
  EXPECT_TRUE(flat.world->save_now());
  other.join();
  EXPECT_TRUE(first.is_stored());
  EXPECT_EQ(flat.stored_at(kHere, 0), 2);
  EXPECT_EQ(flat.control.commit_count, 2U);
}

TEST(WorldSaveNow, TellsWhatWentWrongAndEverythingStaysDirty) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("no room"); });
  const auto report = flat.world->save_now();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(flat.world->telemetry().dirty_chunk_count, 1U);
  flat.control.before_commit(nullptr);
  EXPECT_TRUE(flat.world->save_now());
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  ASSERT_TRUE(flat.world->close());
  EXPECT_EQ(flat.world->save_now().error().code(), ErrorCode::invalid_argument);
}

TEST(WorldSaveNow, IsRefusedInItsOwnHookAndInsideAnEdit) {
  std::optional<ErrorCode> in_hook;
  WorldOptions options;
  options.before_save = [&](World& world) -> Status {
    const auto inner = world.save_now();
    if (!inner) in_hook = inner.error().code();
    return {};
  };
  FlatWorld flat(std::move(options));
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  EXPECT_TRUE(flat.world->save_now());
  EXPECT_EQ(in_hook, ErrorCode::busy);
  std::optional<ErrorCode> in_edit;
  ASSERT_TRUE(flat.world->edit<RawChunk>(
      kHere, [&](RawChunk&) { in_edit = flat.world->save_now().error().code(); }));
  EXPECT_EQ(in_edit, ErrorCode::busy);
}

}  // namespace
}  // namespace varve::test
