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

// Each of them needs a space that is new.
const Workload kCommits = {
    {.changes = {{"chunk:planet/5,5", noise(600, 1)}, {"player:ann", Bytes::copy_of("a")}}},
    {.changes = {{"chunk:moon/5,5", noise(600, 2)},
                 {"chunk:planet/5,5", std::nullopt},
                 {"player:ann", Bytes::copy_of("b")}}}};

TEST(VarveCrashErrors, EveryOperationOfACommit) {
  crash::StoreCrashSubject save(open_or_create_save);
  const crash::Start start = start_after(save, {kCommits[0]});
  expect_sound("errors of a commit", crash::sweep_io_errors(save, {kCommits[1]}, kFewStates, start),
               100);
}

// A commit that shares, joins and lets go happens wholly or not at all.
TEST(VarveCrashErrors, EveryOperationOfACommitThatShares) {
  crash::StoreCrashSubject save(open_or_create_sharing_save);
  const crash::Start start =
      start_after(save, {{.changes = {{"chunk:1,1", noise(200, 1)}, {"chunk:2,2", noise(200, 1)}}},
                         {.changes = {{"chunk:5,5", noise(200, 2)}}}});
  const Workload workload = {{.changes = {{"chunk:1,1", noise(200, 2)},
                                          {"chunk:2,2", std::nullopt},
                                          {"chunk:3,3", noise(200, 2)}}}};
  expect_sound("errors of sharing", crash::sweep_io_errors(save, workload, kFewStates, start), 50);
}

// The next process goes on in what it sees, and what it commits there must not hang on a name that
// the one before did not live to make durable.
TEST(VarveCrashErrors, ProcessesThatAreKilled) {
  crash::StoreCrashSubject save(open_or_create_save);
  crash::SweepOptions options = kFewStates;
  options.state_every = 3;
  expect_sound("killed", crash::sweep_killed_processes(save, kCommits, options), 80);
}

TEST(VarveCrashErrors, EveryOperationOfMakingASave) {
  FolderSubject folder;
  expect_sound("errors of making",
               crash::sweep_io_errors(folder, {create_step("world")}, kFewStates), 300);
}

TEST(VarveCrashErrors, EveryOperationOfRenamingAndRemoving) {
  FolderSubject folder;
  const crash::Start start = start_after(folder, {create_step("world"), commit_step("world", "x")});
  const Workload workload = {rename_step("world", "other", "x"), remove_step("other")};
  expect_sound("errors of renaming and removing",
               crash::sweep_io_errors(folder, workload, kFewStates, start), 100);
}

TEST(VarveCrashErrors, FullDisks) {
  crash::StoreCrashSubject save(open_or_create_save);
  expect_sound("full disks", crash::sweep_full_disks(save, kCommits, kFewStates, 1000), 20);
}

}  // namespace
}  // namespace varve::test
