// Varve saves on disks that fail and are full, crashed all the same.
#include <gtest/gtest.h>

#include <iostream>

#include "backend/log/log_workloads.h"
#include "crash/io_error_sweep.h"
#include "store/varve/crash_subject.h"

namespace varve::test {
namespace {

using crash::Workload;

// Each of the many runs is crashed at every point, so that few states of each must do.
constexpr crash::SweepOptions kFewStates{.limits = {.all_subsets_atom_count = 1,
                                                    .position_count_max = 1,
                                                    .sample_count = 1,
                                                    .garbage_count_max = 1}};

void expect_sound(std::string_view what, const crash::IoErrorResult& result,
                  std::uint64_t run_count_min) {
  std::cout << what << ": " << result.summary() << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GE(result.failed_run_count, run_count_min);
}

// Made, and two commits with a new space each.
Workload short_life() {
  return {{.changes = {{"chunk:planet/5,5", noise(600, 1)}, {"player:ann", Bytes::copy_of("a")}}},
          {.changes = {{"chunk:moon/5,5", noise(600, 2)},
                       {"chunk:planet/5,5", std::nullopt},
                       {"player:ann", Bytes::copy_of("b")}}}};
}

TEST(VarveCrashErrors, EveryOperationOfAShortLife) {
  crash::StoreCrashSubject save(open_or_create_save);
  expect_sound("errors", crash::sweep_io_errors(save, short_life(), kFewStates), 300);
}

TEST(VarveCrashErrors, EveryOperationOfMakingRenamingAndRemoving) {
  FolderSubject folder;
  const Workload workload = {create_step("world"), commit_step("world", "x"),
                             rename_step("world", "other", "x"), remove_step("other")};
  expect_sound("errors of folders", crash::sweep_io_errors(folder, workload, kFewStates), 300);
}

TEST(VarveCrashErrors, FullDisks) {
  crash::StoreCrashSubject save(open_or_create_save);
  expect_sound("full disks", crash::sweep_full_disks(save, short_life(), kFewStates, 2000), 20);
}

}  // namespace
}  // namespace varve::test
