// A nebula store on disks that fail, are full or have no links, crashed all the same.
#include <gtest/gtest.h>

#include <iostream>

#include "crash/io_error_sweep.h"
#include "store/nebula/crash_subject.h"

namespace varve::nebula::test {
namespace {

using crash::Step;
using crash::Workload;

const Step kReopen{.changes = {}, .upkeep = "reopen"};

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

Step change(std::uint64_t tick) {
  Step step = tick_only(tick);
  step.changes["chunk:0,0,0,0"] = Bytes::copy_of(std::string(600, static_cast<char>('a' + tick)));
  step.changes["player:ann"] =
      tick % 2 == 0 ? std::nullopt : std::optional(Bytes::copy_of(std::to_string(tick)));
  return step;
}

TEST(NebulaCrashErrors, EveryOperationOfShortLives) {
  NebulaCrashSubject subject;
  const Workload workload = {change(1), kReopen, change(2)};
  expect_sound("errors", crash::sweep_io_errors(subject, workload, kFewStates), 500);
}

TEST(NebulaCrashErrors, EveryOperationOfARotation) {
  NebulaCrashSubject subject;
  const crash::Start start = start_after(with_backups({change(1), change(2), change(3)}));
  const Workload workload = with_backups({change(4), change(5)}, start.records);
  expect_sound("errors with backups", crash::sweep_io_errors(subject, workload, kFewStates, start),
               500);
}

TEST(NebulaCrashErrors, FirstBackups) {
  NebulaCrashSubject subject;
  const crash::Start start = start_after({change(1)});
  const Workload workload = with_backups({change(2)}, start.records);
  expect_sound("errors of a first backup",
               crash::sweep_io_errors(subject, workload, kFewStates, start), 300);
}

TEST(NebulaCrashErrors, FirstCommitsOnASaveOfAnotherProgram) {
  NebulaCrashSubject subject;
  const crash::Start start = another_programs_save();
  expect_sound("errors on another program's save",
               crash::sweep_io_errors(subject, {change(1), change(2)}, kFewStates, start), 300);
}

TEST(NebulaCrashErrors, FullDisks) {
  NebulaCrashSubject subject;
  const crash::Start start = start_after(with_backups({change(1), change(2)}));
  const Workload workload = with_backups({change(3), change(4)}, start.records);
  expect_sound("full disks", crash::sweep_full_disks(subject, workload, kFewStates, 500, start),
               30);
  expect_sound("full disks from the start",
               crash::sweep_full_disks(subject, {change(1), kReopen, change(2)}, kFewStates, 500),
               30);
}

TEST(NebulaCrashErrors, DisksWithoutLinks) {
  NebulaCrashSubject subject([](sim::SimDisk& disk) { disk.set_links(false); });
  Workload commits = {change(1), change(2), change(3)};
  Workload workload = with_backups(commits);
  const auto result = crash::sweep_crashes(subject, workload, {.recovery_every = 997});
  std::cout << "without links: " << result.summary() << "\n";
  EXPECT_TRUE(result.ok());
  EXPECT_GT(result.point_count, 150U);
  Workload pinned = {change(1), change(2), change(3)};
  pinned[1].upkeep = "pin";
  const auto with_view = crash::sweep_crashes(subject, pinned, {.recovery_every = 499});
  std::cout << "without links, pinned: " << with_view.summary() << "\n";
  EXPECT_TRUE(with_view.ok());
}

}  // namespace
}  // namespace varve::nebula::test
