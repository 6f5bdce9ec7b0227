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
