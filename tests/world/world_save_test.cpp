// What a save is, when autosave makes one, and edits meanwhile.
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

// How many saves were started, whether they have ended or not.
std::uint64_t started(FlatWorld& flat) { return flat.world->telemetry().save_start_us.count(); }

// --- The behaviours the design names -----------------------------------------------------

TEST(WorldSave, AutosaveTriggersAtItsIntervalAndNotBefore) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 10}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  flat.world->update(9);
  EXPECT_EQ(started(flat), 0U);
  flat.world->update(1);
  EXPECT_EQ(started(flat), 1U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
  ASSERT_TRUE(flat.world->last_save());
  EXPECT_TRUE(*flat.world->last_save());
}

TEST(WorldSave, OnlyDirtyChunksAreWritten) {
  FlatWorld flat;
  for (int x = 0; x < 100; ++x) ASSERT_EQ(flat.at({x, 0}, 0), 7);
  ASSERT_TRUE(flat.set({5, 0}, 0, 1));
  ASSERT_TRUE(flat.set({6, 0}, 0, 1));
  std::size_t committed_count = 0;
  flat.control.before_commit([&](const Commit& commit) {
    committed_count += commit.chunks.size();
    return Status();
  });
  ASSERT_EQ(flat.world->save().wait()->chunk_count, 2U);
  ASSERT_TRUE(flat.set({6, 0}, 0, 2));
  ASSERT_EQ(flat.world->save().wait()->chunk_count, 1U);
  EXPECT_EQ(committed_count, 3U);
  std::size_t stored_count = 0;
  ASSERT_TRUE(
      flat.world->store().list_chunks({}, [&](const ChunkInfo&) { return ++stored_count, true; }));
  EXPECT_EQ(stored_count, 2U);
}

TEST(WorldSave, ASaveIsWholeOrNotThere) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.set(kThere, 0, 1));
  ASSERT_TRUE(flat.world->put_player("anna", Bytes::copy_of("one")));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.set(kThere, 0, 2));
  ASSERT_TRUE(flat.world->put_player("anna", Bytes::copy_of("two")));
  {
    HeldCommits held(flat.control);
    SaveHandle save = flat.world->save();
    held.wait_until_one_is_held();
    EXPECT_EQ(flat.stored_at(kHere, 0), 1);
    EXPECT_EQ(flat.stored_at(kThere, 0), 1);
    EXPECT_EQ(**flat.world->store().read_player("anna"), Bytes::copy_of("one"));
  }
  flat.crash_and_reopen();
  EXPECT_EQ(flat.stored_at(kHere, 0), 2);
  EXPECT_EQ(flat.stored_at(kThere, 0), 2);
  EXPECT_EQ(**flat.world->store().read_player("anna"), Bytes::copy_of("two"));
}

TEST(WorldSave, ThePreviousSaveIsTheBackup) {
  FlatWorld flat({.autosave = AutosaveConfig{.max_backups = 1}});
  ASSERT_TRUE(flat.world->put_global("label", Bytes::copy_of("version_a")));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.world->put_global("label", Bytes::copy_of("version_b")));
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(**flat.world->store().read_global("label"), Bytes::copy_of("version_b"));
  auto backup = World::open(flat.path + ".backup");
  ASSERT_TRUE(backup) << backup.error().message();
  EXPECT_EQ(**(*backup)->load_global("label"), Bytes::copy_of("version_a"));
}

TEST(WorldSave, TheGameGoesOnWhileASaveRuns) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle save = flat.world->save();
  held.wait_until_one_is_held();
  // The store stands still; the game does not.
  for (int frame = 0; frame < 100; ++frame) {
    ASSERT_TRUE(flat.set(kHere, 0, static_cast<std::uint8_t>(frame)));
    flat.world->update(0.016);
    flat.world->tick();
  }
  EXPECT_FALSE(save.is_done());
  EXPECT_FALSE(save.is_durable());
  EXPECT_FALSE(save.wait_for(0ms));
  held.release();
  ASSERT_TRUE(save.wait());
  EXPECT_TRUE(save.is_stored());
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
}

TEST(WorldSave, ProgressRisesAndReachesOneOnlyWhenStored) {
  FlatWorld flat;
  for (int x = 0; x < 5; ++x) {
    ASSERT_EQ(flat.at({x, 0}, 0), 7);
    ASSERT_TRUE(flat.set({x, 0}, 0, 1));
  }
  HeldCommits held(flat.control);
  SaveHandle save = flat.world->save();
  held.wait_until_one_is_held();
  EXPECT_GT(save.progress(), 0.0F) << "everything is encoded";
  EXPECT_LT(save.progress(), 1.0F);
  held.release();
  ASSERT_TRUE(save.wait());
  EXPECT_EQ(save.progress(), 1.0F);
}

TEST(WorldSave, DisabledAutosaveDoesNotTrigger) {
  FlatWorld flat({.autosave = AutosaveConfig{.enabled = false, .interval_s = 1}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.world->update(999);
  EXPECT_EQ(started(flat), 0U);
  EXPECT_EQ(flat.control.commit_count, 0U);
}

// --- Autosave ------------------------------------------------------------------------------

TEST(WorldSave, AnyFinishedSaveRestartsTheAutosaveTimer) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 10}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.world->update(9);
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  flat.world->update(9);
  EXPECT_EQ(started(flat), 1U);
  flat.world->update(1);
  EXPECT_EQ(started(flat), 2U);
}

TEST(WorldSave, AutosaveDoesNotStartWhileASaveRuns) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 1}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle save = flat.world->save();
  held.wait_until_one_is_held();
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  for (int i = 0; i < 10; ++i) flat.world->update(5);
  held.release();
  ASSERT_TRUE(save.wait());
  flat.world->update(0);
  EXPECT_FALSE(flat.world->is_saving()) << "the timer began anew";
  EXPECT_EQ(flat.control.commit_count, 1U);
}

TEST(WorldSave, AfterAFailureEverythingStaysDirtyAndIsTriedAgainSoon) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 100, .retry_s = 5}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.control.before_commit(
      [](const Commit&) { return Status(out_of_space("the disk is full")); });
  flat.world->update(100);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  ASSERT_TRUE(flat.world->last_save());
  EXPECT_EQ(flat.world->last_save()->error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(flat.world->telemetry().last_error->message(), "the disk is full");
  flat.world->update(4.5);
  EXPECT_EQ(started(flat), 1U);
  flat.world->update(0.5);
  EXPECT_EQ(started(flat), 2U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  flat.world->update(9);
  EXPECT_EQ(started(flat), 2U) << "the second retry waits twice as long";
  flat.control.before_commit({});
  flat.world->update(1);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.world->state(kHere), ChunkState::persisted);
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  EXPECT_TRUE(*flat.world->last_save());
}

TEST(WorldSave, AutosaveIsChangedWhileRunning) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 100}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.world->update(10);
  ASSERT_TRUE(flat.world->set_autosave({.interval_s = 10}));
  flat.world->update(0);
  EXPECT_EQ(started(flat), 1U);
  EXPECT_EQ(flat.world->set_autosave({.interval_s = 0}).error().code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(flat.world->autosave().interval_s, 10);
}

TEST(WorldSave, WithoutOptionsTheFormatsDefaultsHold) {
  FlatWorld flat;
  EXPECT_EQ(flat.world->autosave().interval_s, flat.world->store().defaults().autosave_interval_s);
  EXPECT_EQ(flat.world->autosave().max_backups, flat.world->store().defaults().max_backups);
}

TEST(WorldSave, BackupsAreKeptAsManyAsAskedFor) {
  FlatWorld flat({.autosave = AutosaveConfig{.max_backups = 2}});
  for (const char* label : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(flat.world->put_global("label", Bytes::copy_of(label)));
    ASSERT_TRUE(flat.world->save().wait());
  }
  const auto label_of = [&](const std::string& suffix) {
    auto opened = World::open(flat.path + suffix);
    return opened ? std::string((**(*opened)->load_global("label")).text())
                  : opened.error().message();
  };
  EXPECT_EQ(label_of(".backup"), "c");
  EXPECT_EQ(label_of(".backup.2"), "b");
  EXPECT_FALSE(World::open(flat.path + ".backup.3"));
}

// --- Edits during a save ---------------------------------------------------------------------

TEST(WorldSave, AnEditDuringASaveIsNotLostByIt) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  {
    HeldCommits held(flat.control);
    SaveHandle save = flat.world->save();
    held.wait_until_one_is_held();
    ASSERT_TRUE(flat.set(kHere, 0, 2));
    held.release();
    ASSERT_TRUE(save.wait());
  }
  // The save finished and must not have cleared what came after its snapshot.
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.world->state(kHere), ChunkState::persisted);
  flat.crash_and_reopen();
  EXPECT_EQ(flat.at(kHere, 0), 2);
}

TEST(WorldSave, ACrashRightAfterASaveWithAnEditInItLosesOnlyThatEdit) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  {
    HeldCommits held(flat.control);
    SaveHandle save = flat.world->save();
    held.wait_until_one_is_held();
    ASSERT_TRUE(flat.set(kHere, 0, 2));
    held.release();
    ASSERT_TRUE(save.wait());
  }
  flat.crash_and_reopen();
  EXPECT_EQ(flat.at(kHere, 0), 1);
}

TEST(WorldSave, AFailedSaveDoesNotBringBackOldStateLater) {
  FlatWorld flat({.write_through = {.enabled = true}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.set(kThere, 0, 1));
  flat.control.before_commit([](const Commit&) { return Status(io_error("it failed")); });
  EXPECT_FALSE(flat.world->save().wait());
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  flat.control.before_commit({});
  // Write-through saves the newer state of one of the two ...
  flat.world->update(60);
  flat.update_until([&] { return flat.stored_at(kHere, 0) == 2; });
  // ... and the next save must not put the older one over it.
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), 2);
  EXPECT_EQ(flat.stored_at(kThere, 0), 1);
}

}  // namespace
}  // namespace varve::test
