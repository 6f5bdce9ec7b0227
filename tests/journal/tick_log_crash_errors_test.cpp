// A log of ticks on disks that fail and are full, crashed all the same.
#include <gtest/gtest.h>

#include <iostream>

#include "crash/io_error_sweep.h"
#include "journal/tick_log_subject.h"

namespace varve::test {
namespace {

using crash::Workload;
using journal::TickLogOptions;

// Each of the many runs is crashed at every point, so that few states of each must do.
constexpr crash::SweepOptions kFewStates{.limits = {.all_subsets_atom_count = 1,
                                                    .position_count_max = 1,
                                                    .sample_count = 1,
                                                    .garbage_count_max = 0}};

void expect_sound(std::string_view what, const crash::IoErrorResult& result,
                  std::uint64_t run_count_min) {
  std::cout << what << ": " << result.summary() << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GE(result.failed_run_count, run_count_min);
}

// A few ticks, a rotation, a second opening.
Workload short_life() {
  return {tick_step(1, 100), tick_step(2, 2500), tick_step(3, 2000),
          upkeep("reopen"),  tick_step(7, 493),  tick_step(8, 10)};
}

TickLogOptions every_second() {
  TickLogOptions options = small_tick_log_options();
  options.durability = {.kind = Durability::Kind::every_n, .count = 2};
  return options;
}

TEST(TickLogCrashErrors, EveryOperationOfAShortLife) {
  TickLogSubject log(small_tick_log_options());
  expect_sound("errors", crash::sweep_io_errors(log, short_life(), kFewStates), 200);
}

TEST(TickLogCrashErrors, EveryOperationWithASyncNowAndThen) {
  TickLogSubject log(every_second());
  expect_sound("errors, every second", crash::sweep_io_errors(log, short_life(), kFewStates), 200);
}

TEST(TickLogCrashErrors, EveryOperationOfTruncationAndRecycling) {
  TickLogSubject log(every_second());
  const crash::Start start = start_after(log, ticks(1, 12, 3));
  const Workload workload = {truncate_step(40, 12), tick_step(41, 2500), tick_step(42, 2500),
                             tick_step(43, 2500), truncate_step(44, 42)};
  expect_sound("errors while truncating", crash::sweep_io_errors(log, workload, kFewStates, start),
               200);
}

TEST(TickLogCrashErrors, FullDisks) {
  TickLogSubject log(small_tick_log_options());
  expect_sound("full disks", crash::sweep_full_disks(log, short_life(), kFewStates, 256), 8);
  TickLogSubject second(every_second());
  expect_sound("full disks, every second",
               crash::sweep_full_disks(second, short_life(), kFewStates, 256), 8);
}

}  // namespace
}  // namespace varve::test
