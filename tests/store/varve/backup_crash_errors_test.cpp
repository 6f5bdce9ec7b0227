// Backups and restores on a disk that fails, under processes that are killed, and crashed all the
// same.
//
// Invariants checked, whatever fails and wherever the power goes before or after it: the target is
// absent, or the older backup, or the new one, every record compared, and the new one once a call
// said so; the save it is made from is as it was; and the next call does its work whatever the
// last one left.
#include <gtest/gtest.h>

#include <iostream>

#include "crash/io_error_sweep.h"
#include "io/sim/sim_disk.h"
#include "store/varve/backup_subject.h"

namespace varve::test {
namespace {

// Fails the Nth operation for N = 1, 2, 3 ... until a run stays untouched. Each run ends with the
// disk as the program sees it; then the disk is well, and the next call does the work.
void expect_every_error_is_survived(const BackupWay& way, bool has_backup,
                                    std::string_view upkeep) {
  const auto scene = make_backup_scene(way, has_backup, upkeep);
  ASSERT_TRUE(scene) << scene.error().message();
  const crash::Records& old = scene->start.records;
  const crash::Records done = crash::after(old, scene->step);
  BackupSubject subject(way, scene->step);
  std::size_t failed_count = 0;
  for (const bool from_then_on : {false, true}) {
    for (const sim::Effect effect : {sim::Effect::none, sim::Effect::all}) {
      bool is_untouched = false;
      for (std::uint64_t number = 1; !is_untouched; ++number) {
        sim::SimDisk sim(scene->start.image, number);
        sim.set_recording(false);
        const auto session = subject.open(sim);
        ASSERT_TRUE(session);
        sim.set_fault(sim::Fault{
            .op_number = sim.op_count() + number, .from_then_on = from_then_on, .effect = effect});
        const std::uint64_t last = sim.op_count() + number;
        const Status applied = (*session)->apply(scene->step);
        is_untouched = sim.op_count() < last;
        sim.set_fault(std::nullopt);
        if (!applied) ++failed_count;
        const auto found = (*session)->read_all();
        ASSERT_TRUE(found) << "operation " << number << ": " << found.error().message();
        ASSERT_TRUE(*found == done || (!applied && *found == old)) << "operation " << number;
        const Status again = (*session)->apply(scene->step);
        ASSERT_TRUE(again) << "operation " << number << ": " << again.error().message();
        const auto after = (*session)->read_all();
        ASSERT_TRUE(after && *after == done) << "operation " << number;
      }
    }
  }
  EXPECT_GT(failed_count, 100U);
  testing::Test::RecordProperty("failed_runs", std::to_string(failed_count));
}

// Each operation is failed in twelve ways, and each of these runs crashed at every point: of those
// states a sample must do, which the seed chooses. What is right
// behind a failure or an acknowledgement is looked at in full.
crash::SweepOptions sample(std::uint64_t state_every) {
  return {.limits = {.all_subsets_atom_count = 3,
                     .position_count_max = 1,
                     .sample_count = 1,
                     .garbage_count_max = 1},
          .state_every = state_every};
}

void expect_sound(std::string_view what, const crash::IoErrorResult& result,
                  std::uint64_t run_count_min) {
  std::cout << what << ", seed 1: " << result.summary() << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GE(result.failed_run_count, run_count_min);
  EXPECT_GT(result.state_count, 2 * result.run_count) << "crashed too seldom to mean anything";
}

void expect_errors_and_crashes_are_survived(const BackupWay& way, bool has_backup,
                                            std::string_view upkeep) {
  const auto scene = make_backup_scene(way, has_backup, upkeep, 2);
  ASSERT_TRUE(scene) << scene.error().message();
  BackupSubject subject(way, scene->step);
  expect_sound("errors", crash::sweep_io_errors(subject, {scene->step}, sample(97), scene->start),
               500);
}

// A process is killed at every operation; the next one backs up, and the power goes.
void expect_deaths_and_crashes_are_survived(const BackupWay& way, bool has_backup,
                                            std::string_view upkeep) {
  const auto scene = make_backup_scene(way, has_backup, upkeep, 2);
  ASSERT_TRUE(scene) << scene.error().message();
  BackupSubject subject(way, scene->step);
  expect_sound("killed",
               crash::sweep_killed_processes(subject, {scene->step}, sample(7), scene->start), 50);
}

TEST(VarveBackupErrors, ANewOneIsWholeOrAbsent) {
  expect_every_error_is_survived({}, false, kBackUp);
}
TEST(VarveBackupErrors, AnIncrementalOneIsTheOldOneOrTheNew) {
  expect_every_error_is_survived({}, true, kBackUp);
}
TEST(VarveBackupErrors, OneThatTakesTheOldOnesPlaceIsTheOldOneOrTheNew) {
  expect_every_error_is_survived({.change_size_max = 16}, true, kBackUp);
}
TEST(VarveBackupErrors, WithoutASwapTheOldOneIsWhereTheNextCallFindsIt) {
  expect_every_error_is_survived({.change_size_max = 16, .has_links = false}, true, kBackUp);
}
TEST(VarveBackupErrors, ARestoreLeavesTheOldSaveOrTheRestoredOneAndTheOld) {
  expect_every_error_is_survived({}, true, kRestore);
}

TEST(VarveBackupErrorsAndCrashes, ANewOneIsWholeOrAbsent) {
  expect_errors_and_crashes_are_survived({}, false, kBackUp);
}
TEST(VarveBackupErrorsAndCrashes, AnIncrementalOneIsTheOldOneOrTheNew) {
  expect_errors_and_crashes_are_survived({}, true, kBackUp);
}
TEST(VarveBackupErrorsAndCrashes, OneThatTakesTheOldOnesPlaceIsTheOldOneOrTheNew) {
  expect_errors_and_crashes_are_survived({.change_size_max = 16}, true, kBackUp);
}
TEST(VarveBackupErrorsAndCrashes, WithoutASwapTheOldOneIsWhereTheNextCallFindsIt) {
  expect_errors_and_crashes_are_survived({.change_size_max = 16, .has_links = false}, true,
                                         kBackUp);
}
TEST(VarveBackupErrorsAndCrashes, ARestoreLeavesTheOldSaveOrTheRestoredOneAndTheOld) {
  expect_errors_and_crashes_are_survived({}, true, kRestore);
}

TEST(VarveBackupDeathsAndCrashes, ANewOneIsWholeOrAbsent) {
  expect_deaths_and_crashes_are_survived({}, false, kBackUp);
}
TEST(VarveBackupDeathsAndCrashes, AnIncrementalOneIsTheOldOneOrTheNew) {
  expect_deaths_and_crashes_are_survived({}, true, kBackUp);
}
TEST(VarveBackupDeathsAndCrashes, OneThatTakesTheOldOnesPlaceIsTheOldOneOrTheNew) {
  expect_deaths_and_crashes_are_survived({.change_size_max = 16}, true, kBackUp);
}
TEST(VarveBackupDeathsAndCrashes, WithoutASwapTheOldOneIsWhereTheNextCallFindsIt) {
  expect_deaths_and_crashes_are_survived({.change_size_max = 16, .has_links = false}, true,
                                         kBackUp);
}
TEST(VarveBackupDeathsAndCrashes, ARestoreLeavesTheOldSaveOrTheRestoredOneAndTheOld) {
  expect_deaths_and_crashes_are_survived({}, true, kRestore);
}

}  // namespace
}  // namespace varve::test
