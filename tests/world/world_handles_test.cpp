// Handles of saves, copies of worlds, views, and closing.
#include <gtest/gtest.h>

#include <thread>

#include "support/allocation_watch.h"
#include "varve/format.h"
#include "world/sample_world.h"

namespace varve::test {
namespace {

using namespace std::chrono_literals;

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

// --- Handles ---------------------------------------------------------------------------------

TEST(WorldSave, SavesAskedForWhileOneRunsAreOneFurtherSave) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle first = flat.world->save();
  held.wait_until_one_is_held();
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  SaveHandle second = flat.world->save();
  ASSERT_TRUE(flat.set(kHere, 0, 3));
  SaveHandle third = flat.world->save();
  ASSERT_TRUE(flat.set(kHere, 0, 4));
  EXPECT_TRUE(flat.world->is_saving());
  held.release();
  // Waiting on the game thread starts it; nobody else could.
  const auto report = third.wait();
  ASSERT_TRUE(report);
  EXPECT_TRUE(first.is_stored());
  EXPECT_TRUE(second.is_stored());
  EXPECT_EQ(second.wait()->generation, report->generation);
  EXPECT_EQ(flat.stored_at(kHere, 0), 4) << "cut right after the first one";
  EXPECT_EQ(flat.control.commit_count, 2U);
}

TEST(WorldSave, AHandleMayBeWaitedForOnAnotherThread) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle first = flat.world->save();
  held.wait_until_one_is_held();
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  SaveHandle second = flat.world->save();
  std::atomic<bool> stored = false;
  std::thread other([second, &stored]() mutable { stored = second.wait().has_value(); });
  held.release();
  flat.update_until([&] { return second.is_done(); });
  other.join();
  EXPECT_TRUE(stored);
  EXPECT_EQ(flat.stored_at(kHere, 0), 2);
}

TEST(WorldSave, AHandleOutlivesItsWorld) {
  SaveHandle save;
  EXPECT_TRUE(save.is_done());
  EXPECT_EQ(save.wait().error().code(), ErrorCode::not_found);
  SaveHandle waiting;
  {
    FlatWorld flat;
    ASSERT_EQ(flat.at(kHere, 0), 7);
    ASSERT_TRUE(flat.set(kHere, 0, 1));
    HeldCommits held(flat.control);
    save = flat.world->save();
    ASSERT_TRUE(flat.set(kHere, 0, 2));
    waiting = flat.world->save();
  }
  EXPECT_EQ(save.wait()->chunk_count, 1U);
  EXPECT_EQ(waiting.wait()->chunk_count, 1U) << "what was asked for is saved";
}

TEST(WorldSave, AReportCountsWhatWasSaved) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  for (EntityId id = 1; id <= 3; ++id)
    ASSERT_TRUE(flat.world->put_entity({.id = id, .owner = kHere, .data = Bytes::copy_of("pig")}));
  ASSERT_TRUE(flat.world->put_player("anna", Bytes::copy_of("12345")));
  ASSERT_TRUE(flat.world->put_global("weather", Bytes::copy_of("rain")));
  flat.world->tick();
  const auto report = flat.world->save().wait();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->tick, 1U);
  EXPECT_EQ(report->generation, 1U);
  EXPECT_EQ(report->chunk_count, 1U);
  EXPECT_EQ(report->chunk_size, kFlatChunkSize);
  EXPECT_EQ(report->entity_count, 3U);
  EXPECT_EQ(report->entity_size, 9U);
  EXPECT_EQ(report->player_count, 1U);
  EXPECT_EQ(report->player_size, 5U);
  EXPECT_EQ(report->meta_size, 4U);
  EXPECT_GE(report->written_size, kFlatChunkSize + 9 + 5 + 4);
  EXPECT_GT(report->commit_time.count(), 0);
  EXPECT_GT(report->start_time.count(), 0);
  const Telemetry telemetry = flat.world->telemetry();
  EXPECT_EQ(telemetry.save_start_us.count(), 1U);
  EXPECT_EQ(telemetry.save_count, 1U);
  EXPECT_EQ(telemetry.commit_count, 1U);
  EXPECT_EQ(telemetry.bytes_written, report->written_size);
  EXPECT_EQ(telemetry.dirty_record_count, 0U);
  EXPECT_EQ(telemetry.last_error, std::nullopt);
}

TEST(WorldSave, TicksGoOnWhereTheSaveLeftOff) {
  FlatWorld flat;
  for (int i = 0; i < 5; ++i) flat.world->tick();
  ASSERT_TRUE(flat.world->save().wait());
  flat.world->tick();
  flat.crash_and_reopen();
  EXPECT_EQ(flat.world->current_tick(), 5U);
  EXPECT_EQ(flat.world->tick(), 6U);
}

TEST(WorldSave, BeforeSaveHandsOverOncePerSave) {
  int call_count = 0;
  FlatWorld flat({.before_save = [&](World& world) {
    ++call_count;
    world.save();  // joins the one that is being made
    return world.put_entity({.id = 1, .data = Bytes::copy_of(std::to_string(call_count))});
  }});
  ASSERT_EQ(flat.world->save().wait()->entity_count, 1U);
  EXPECT_EQ(call_count, 1);
  flat.world->update(300);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(call_count, 2);
  EXPECT_EQ((*flat.world->store().read_entity(1))->data, Bytes::copy_of("2"));
}

TEST(WorldSave, UpdateReportsEachSaveThatEndedOnce) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 10}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_FALSE(flat.world->update(0).saved);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  flat.world->update(10);
  EXPECT_FALSE(flat.world->current_save().is_done()) << "an autosave has a handle too";
  held.release();
  flat.update_until([&](const UpdateReport& report) {
    if (!report.saved) return false;
    EXPECT_EQ((*report.saved)->chunk_count, 1U);
    return true;
  });
  EXPECT_FALSE(flat.world->update(0).saved);
  EXPECT_TRUE(flat.world->current_save().is_done());
  flat.control.before_commit([](const Commit&) { return Status(io_error("it failed")); });
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  EXPECT_FALSE(flat.world->save().wait());
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  const auto& report = flat.world->update(0);
  ASSERT_TRUE(report.saved);
  EXPECT_FALSE(*report.saved);
}

// --- Copies ------------------------------------------------------------------------------------

TEST(WorldSave, SaveToWritesAWholeWorldAndLeavesThisOneAsItWas) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.set(kThere, 0, 1));
  ASSERT_TRUE(flat.world->put_entity({.id = 4, .owner = kHere, .data = Bytes::copy_of("cow")}));
  ASSERT_TRUE(flat.world->put_entity({.id = 5, .owner = kHere, .data = Bytes::copy_of("hen")}));
  ASSERT_TRUE(flat.world->put_player("anna", Bytes::copy_of("a")));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.world->erase_entity(5));
  ASSERT_TRUE(flat.world->put_global("weather", Bytes::copy_of("rain")));
  flat.world->tick();
  const std::string copy_path = fresh_memory_path();
  const auto copied = flat.world->save_to(copy_path).wait();
  ASSERT_TRUE(copied) << copied.error().message();
  EXPECT_EQ(copied->chunk_count, 2U);
  EXPECT_EQ(copied->entity_count, 1U);

  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  EXPECT_TRUE(*flat.world->store().read_entity(5));
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), 2);

  auto copy = open_store(copy_path);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ((*copy)->tick(), 1U);
  EXPECT_EQ((*copy)->generator(), (GeneratorId{.name = "flat", .version = 1}));
  EXPECT_EQ((**(*copy)->read_chunk(kHere)).view()[0], std::byte{2});
  EXPECT_EQ((**(*copy)->read_chunk(kThere)).view()[0], std::byte{1});
  EXPECT_EQ((*(*copy)->read_entity(4))->data, Bytes::copy_of("cow"));
  EXPECT_FALSE(*(*copy)->read_entity(5));
  EXPECT_EQ(**(*copy)->read_player("anna"), Bytes::copy_of("a"));
  EXPECT_EQ(**(*copy)->read_global("weather"), Bytes::copy_of("rain"));
}

TEST(WorldSave, SaveToATakenPathIsRefusedAndTouchesNothing) {
  FlatWorld flat;
  FlatWorld other;
  ASSERT_TRUE(other.world->put_global("mine", Bytes::copy_of("kept")));
  ASSERT_TRUE(other.world->save().wait());
  const auto copied = flat.world->save_to(other.path).wait();
  ASSERT_FALSE(copied);
  EXPECT_NE(copied.error().message().find(other.path), std::string::npos);
  EXPECT_EQ(**other.world->store().read_global("mine"), Bytes::copy_of("kept"));
  EXPECT_FALSE(flat.world->save_to(fresh_memory_path(), "no such format").wait());
  EXPECT_FALSE(flat.world->save_to("").wait());
}

TEST(WorldSave, SavesGoOnWhileACopyIsWritten) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  const std::string copy_path = fresh_memory_path();
  SaveHandle copy = flat.world->save_to(copy_path);
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(copy.wait());
  auto opened = open_store(copy_path);
  ASSERT_TRUE(opened);
  EXPECT_EQ((**(*opened)->read_chunk(kHere)).view()[0], std::byte{1}) << "as it was when asked for";
  EXPECT_EQ(flat.stored_at(kHere, 0), 2);
}

// --- Views and closing ---------------------------------------------------------------------------

TEST(WorldSave, APinnedViewStaysAsItIs) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.world->save().wait());
  {
    const auto view = flat.world->pin();
    ASSERT_TRUE(view);
    ASSERT_TRUE(flat.set(kHere, 0, 2));
    ASSERT_TRUE(flat.world->save().wait());
    std::thread reader([&] { EXPECT_EQ((**(*view)->read_chunk(kHere)).view()[0], std::byte{1}); });
    reader.join();
  }
  EXPECT_EQ(flat.stored_at(kHere, 0), 2);
}

TEST(WorldSave, CloseSavesWhatIsDirtyOrDiscardsIt) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.world->close());
  EXPECT_TRUE(flat.world->close()) << "closing twice is no error";
  flat.crash_and_reopen();
  EXPECT_EQ(flat.at(kHere, 0), 1);
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.world->close(World::Unsaved::discard));
  flat.crash_and_reopen();
  EXPECT_EQ(flat.at(kHere, 0), 1);
}

TEST(WorldSave, CloseDuringASaveWaitsForItAndSavesTheRest) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle first = flat.world->save();
  held.wait_until_one_is_held();
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  SaveHandle second = flat.world->save();
  held.release();
  ASSERT_TRUE(flat.world->close());
  EXPECT_TRUE(first.is_stored());
  EXPECT_TRUE(second.is_stored());
  flat.crash_and_reopen();
  EXPECT_EQ(flat.at(kHere, 0), 2);
}

TEST(WorldSave, AClosedWorldRefusesPolitely) {
  FlatWorld flat;
  ASSERT_TRUE(flat.world->close());
  EXPECT_EQ(flat.set(kHere, 0, 1).error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(flat.world->load_now(kHere));
  EXPECT_FALSE(flat.world->request(kHere));
  EXPECT_FALSE(flat.world->save().wait());
  EXPECT_FALSE(flat.world->save_to(fresh_memory_path()).wait());
  EXPECT_FALSE(flat.world->pin());
  EXPECT_FALSE(flat.world->load_player("p"));
  EXPECT_FALSE(flat.world->player_left("p").wait());
  flat.world->update(1000);
  flat.world->evict(kHere);
  EXPECT_FALSE(flat.world->is_saving());
}

TEST(WorldSave, AnIdleUpdateSavesNothingAndAllocatesNothing) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 1}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.world->set_window(1, {.centre = kHere, .radius = {1, 1}}));
  flat.update_until([&] { return flat.world->telemetry().loads_in_flight == 0; });
  flat.world->update(10);
  const AllocationWatch watch;
  for (int i = 0; i < 100; ++i) flat.world->update(10);
  EXPECT_EQ(watch.peak_size(), 0U);
  EXPECT_EQ(flat.control.commit_count, 0U);
}

// Starting a save must not depend on how much is dirty: what the game thread allocates
// does not, either.
TEST(WorldSave, StartingASaveTakesTheSameForOneChunkAndForAThousand) {
  const auto allocated_by_a_start = [](int chunk_count) {
    FlatWorld flat;
    for (int x = 0; x < chunk_count; ++x) {
      EXPECT_EQ(flat.at({x, 0}, 0), 7);
      EXPECT_TRUE(flat.set({x, 0}, 0, 1));
    }
    HeldCommits held(flat.control);
    const AllocationWatch watch;
    SaveHandle save = flat.world->save();
    const std::size_t size = watch.peak_size();
    held.release();
    EXPECT_TRUE(save.wait());
    return size;
  };
  EXPECT_LT(allocated_by_a_start(1000), allocated_by_a_start(1) + 1024);
}

}  // namespace
}  // namespace varve::test
