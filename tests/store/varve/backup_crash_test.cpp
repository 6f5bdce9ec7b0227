// Backups and restores on a disk that crashes.
//
// Invariants checked, in every state a crash can leave: the target is absent, or the older backup,
// or the new one, every record compared; the save it is made from is as it was; and the next call
// does its work whatever the last one left.
#include <gtest/gtest.h>

#include "crash/crash_sweep.h"
#include "store/varve/backup_subject.h"

namespace varve::test {
namespace {

void expect_every_crash_is_survived(const BackupWay& way, bool has_backup,
                                    std::string_view upkeep) {
  const auto scene = make_backup_scene(way, has_backup, upkeep);
  ASSERT_TRUE(scene) << scene.error().message();
  BackupSubject subject(way, scene->step);
  const auto run =
      crash::record_run(subject, {scene->step}, scene->start.image, {scene->start.records}, 1);
  ASSERT_TRUE(run) << run.error().message();
  const auto result = crash::sweep_run(subject, *run, {.recovery_every = 1499});
  EXPECT_TRUE(result.ok()) << result.summary();
  EXPECT_GT(result.state_count, 1000U) << "crashed too seldom to mean anything";
  EXPECT_GT(result.recovery_state_count, 1000U);
  testing::Test::RecordProperty("sweep", result.summary());
}

TEST(VarveBackupCrash, ANewOneIsWholeOrAbsent) {
  expect_every_crash_is_survived({}, false, kBackUp);
}
TEST(VarveBackupCrash, AnIncrementalOneIsTheOldOneOrTheNew) {
  expect_every_crash_is_survived({}, true, kBackUp);
}
TEST(VarveBackupCrash, OneThatTakesTheOldOnesPlaceIsTheOldOneOrTheNew) {
  expect_every_crash_is_survived({.change_size_max = 16}, true, kBackUp);
}
TEST(VarveBackupCrash, WithoutASwapTheOldOneIsWhereTheNextCallFindsIt) {
  expect_every_crash_is_survived({.change_size_max = 16, .has_links = false}, true, kBackUp);
}
TEST(VarveBackupCrash, ARestoreLeavesTheOldSaveOrTheRestoredOneAndTheOld) {
  expect_every_crash_is_survived({}, true, kRestore);
}

}  // namespace
}  // namespace varve::test
