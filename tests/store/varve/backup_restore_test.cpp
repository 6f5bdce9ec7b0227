// Saves that become what a backup holds, on a disk that is well.
#include "store/varve/sample_backups.h"

namespace varve::test {
namespace {

class VarveRestore : public BackupTest {
 protected:
  Result<BackupReport> restore() {
    Progress progress;
    return restore_backup(kTarget, "world", progress, backups_);
  }
};

TEST_F(VarveRestore, ARestoredSaveIsTheBackupAndTheOldOneIsKept) {
  fill();
  ASSERT_TRUE(back_up_world());
  const auto backed_up = crash::read_records(*world_);
  commit(*world_, {.chunks = {{ChunkPos(1, -1), Bytes::copy_of("griefed")}}});
  const auto newer = crash::read_records(*world_);

  const auto busy = restore();
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code(), ErrorCode::busy);
  ASSERT_TRUE(world_->close());

  const auto report = restore();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->copied_count, 47U);
  EXPECT_EQ(records_at("world"), *backed_up);
  EXPECT_EQ(records_at("world.before-restore"), *newer);
  expect_nothing_beside();

  const auto again = restore();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(again.error().message().find("world.before-restore"), std::string::npos);
  EXPECT_EQ(records_at("world"), *backed_up);
}

TEST_F(VarveRestore, RestoringToAFreeNameNeedsNoSaveThere) {
  fill();
  ASSERT_TRUE(back_up_world());
  Progress progress;
  const auto report = restore_backup(kTarget, "anew", progress, backups_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(records_at("anew"), records_at(kTarget));
  EXPECT_FALSE(*disk_.exists("anew.before-restore"));
}

// The backup beside a save is one like any other, and it is not changed.
TEST_F(VarveRestore, ABackupThatBelongsToTheSaveKeepsItsName) {
  fill();
  commit(*world_, {.chunks = {{ChunkPos(1, -1), Bytes::copy_of("griefed")}}, .backup_count = 2});
  commit(*world_, {.chunks = {{ChunkPos(2, -2), Bytes::copy_of("griefed")}}, .backup_count = 2});
  ASSERT_TRUE(world_->close());
  const auto newest = records_at("world.backup");
  const auto older = records_at("world.backup.2");
  Progress progress;
  const auto report = restore_backup("world.backup.2", "world", progress, backups_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(records_at("world"), older);
  EXPECT_EQ(records_at("world.backup"), newest);
  EXPECT_EQ(records_at("world.backup.2"), older);
  EXPECT_FALSE(*disk_.exists("world.before-restore.backup"));
}

// Wherever the first call died: what the second one needs is where it was.
TEST_F(VarveRestore, RestoringAgainGoesOn) {
  fill();
  commit(*world_, {.chunks = {{ChunkPos(1, -1), Bytes::copy_of("griefed")}}, .backup_count = 1});
  ASSERT_TRUE(world_->close());
  const auto backup = records_at("world.backup");
  const auto griefed = records_at("world");
  ASSERT_TRUE(disk_.rename("world", "world.before-restore"));
  Progress progress;
  const auto report = restore_backup("world.backup", "world", progress, backups_);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(records_at("world"), backup);
  EXPECT_EQ(records_at("world.backup"), backup);
  EXPECT_EQ(records_at("world.before-restore"), griefed);
}

// A save that lost its records is what restoring is for.
TEST_F(VarveRestore, ASaveWithoutItsLogIsReplaced) {
  fill();
  ASSERT_TRUE(back_up_world());
  const auto backup = records_at(kTarget);
  ASSERT_TRUE(world_->close());
  const auto files = disk_.list("world/log");
  for (const DirEntry& file : *files) ASSERT_TRUE(disk_.remove("world/log/" + file.name));
  ASSERT_TRUE(disk_.remove_dir("world/log"));
  const auto report = restore();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(records_at("world"), backup);
  EXPECT_TRUE(*disk_.exists("world.before-restore"));
}

TEST_F(VarveRestore, RestoringADamagedBackupLeavesTheSave) {
  fill();
  ASSERT_TRUE(back_up_world());
  const auto before = crash::read_records(*world_);
  ASSERT_TRUE(world_->close());
  auto target = backups_.saves().open(kTarget);
  ASSERT_TRUE(target);
  damage(**target, ChunkPos(5, -5));
  ASSERT_TRUE((*target)->close());
  const auto report = restore();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::corruption);
  EXPECT_EQ(records_at("world"), *before);
  expect_nothing_beside();
}

}  // namespace
}  // namespace varve::test
