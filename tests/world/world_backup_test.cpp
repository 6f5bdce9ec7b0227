// Hot backups of a world that goes on.
#include <gtest/gtest.h>

#include "support/scratch_dir.h"
#include "varve/format.h"
#include "varve/world.h"

namespace varve::test {
namespace {

std::string stored_at(const std::string& path, const ChunkPos& pos) {
  const auto store = open_store(path);
  if (!store) return store.error().message();
  const auto payload = (*store)->read_chunk(pos);
  return payload && *payload ? std::string((**payload).text()) : "none";
}

Result<std::unique_ptr<World>> make_world(const std::string& path, std::string format) {
  WorldOptions options;
  options.format = std::move(format);
  return World::create(path, options);
}

TEST(WorldBackup, HoldsWhatWasSavedBeforeItAndNothingDirty) {
  const ScratchDir dir;
  const auto made = make_world(dir.file("world"), "varve");
  ASSERT_TRUE(made) << made.error().message();
  World& world = **made;
  ASSERT_TRUE(world.put_global("weather", Bytes::copy_of("rain")));
  SaveHandle saved = world.save();
  // Asked for while the save runs: it comes after it.
  SaveHandle backup = world.back_up(dir.file("backup"));
  ASSERT_TRUE(world.put_global("weather", Bytes::copy_of("dirty")));
  const auto report = backup.wait();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(saved.is_stored());
  EXPECT_EQ(report->generation, saved.wait()->generation);
  {
    const auto store = open_store(dir.file("backup"));
    ASSERT_TRUE(store);
    EXPECT_EQ((**(*store)->read_global("weather")).text(), "rain");
    ASSERT_TRUE((*store)->close());
  }
  ASSERT_TRUE(world.save().wait());
  const auto second = world.back_up(dir.file("backup")).wait();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_GT(second->generation, report->generation);
  EXPECT_GT(second->written_size, 0U);
  ASSERT_TRUE(world.close());
  const auto store = open_store(dir.file("backup"));
  ASSERT_TRUE(store);
  EXPECT_EQ((**(*store)->read_global("weather")).text(), "dirty");
}

TEST(WorldBackup, OfAnotherFormatSaysWhatToUse) {
  const auto made = make_world("memory:world_backup_test", "memory");
  ASSERT_TRUE(made) << made.error().message();
  const auto report = (*made)->back_up("nowhere").wait();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::unsupported);
  EXPECT_TRUE((*made)->close());
}

// Who says nothing of backups does not mean to lose the one somebody made.
TEST(WorldBackup, StaysBesideAWorldThatIsNotToldHowManyToKeep) {
  const ScratchDir dir;
  {
    const auto made = make_world(dir.file("world"), "varve");
    ASSERT_TRUE(made);
    ASSERT_TRUE((*made)->put_global("weather", Bytes::copy_of("rain")));
    ASSERT_TRUE((*made)->save_now());
    ASSERT_TRUE((*made)->back_up(dir.file("world.backup")).wait());
    ASSERT_TRUE((*made)->close());
  }
  const auto opened = World::open(dir.file("world"), {});
  ASSERT_TRUE(opened) << opened.error().message();
  ASSERT_TRUE((*opened)->put_global("weather", Bytes::copy_of("sun")));
  ASSERT_TRUE((*opened)->save_now());
  {
    const auto backup = open_store_to_read(dir.file("world.backup"));
    ASSERT_TRUE(backup) << backup.error().message();
    EXPECT_EQ((**(*backup)->read_global("weather")).text(), "rain");
  }
  // Who asks for none gets none.
  ASSERT_TRUE((*opened)->set_autosave({.max_backups = 0}));
  ASSERT_TRUE((*opened)->put_global("weather", Bytes::copy_of("snow")));
  ASSERT_TRUE((*opened)->save_now());
  EXPECT_FALSE(open_store_to_read(dir.file("world.backup")));
  ASSERT_TRUE((*opened)->close());
}

// The game is told of a backup that cannot be kept, and its save is made.
TEST(WorldBackup, ThatCannotBeKeptBesideASaveIsAProblemOfIt) {
  const ScratchDir dir;
  const auto made = World::create(
      dir.file("world"), {.format = "varve", .autosave = AutosaveConfig{.max_backups = 1}});
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_TRUE((*made)->put_global("weather", Bytes::copy_of("rain")));
  ASSERT_TRUE((*made)->save_now());
  const auto writer = open_store(dir.file("world.backup"));
  ASSERT_TRUE(writer) << writer.error().message();
  ASSERT_TRUE((*made)->put_global("weather", Bytes::copy_of("sun")));
  const auto report = (*made)->save_now();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->problems.empty()) << "of the records";
  ASSERT_TRUE(report->backup_error);
  EXPECT_EQ(report->backup_error->code(), ErrorCode::busy);
  ASSERT_TRUE((*writer)->close());
  ASSERT_TRUE((*made)->put_global("weather", Bytes::copy_of("snow")));
  EXPECT_FALSE((*made)->save_now()->backup_error);
  ASSERT_TRUE((*made)->put_global("weather", Bytes::copy_of("hail")));
  const auto again = open_store(dir.file("world.backup"));
  ASSERT_TRUE(again);
  const Status closed = (*made)->close();
  EXPECT_TRUE(closed) << "what the game did is saved: " << closed.error().message();
  ASSERT_TRUE((*again)->close());
  EXPECT_EQ((**(*open_store(dir.file("world.backup")))->read_global("weather")).text(), "sun");
}

TEST(WorldBackup, ThatIsStillRunningIsFinishedByClose) {
  const ScratchDir dir;
  const auto made = make_world(dir.file("world"), "varve");
  ASSERT_TRUE(made);
  ASSERT_TRUE((*made)->put_global("weather", Bytes::copy_of("rain")));
  ASSERT_TRUE((*made)->save().wait());
  SaveHandle backup = (*made)->back_up(dir.file("backup"));
  ASSERT_TRUE((*made)->close());
  EXPECT_TRUE(backup.is_stored());
  EXPECT_EQ(stored_at(dir.file("backup"), ChunkPos(0, 0)), "none");
}

}  // namespace
}  // namespace varve::test
