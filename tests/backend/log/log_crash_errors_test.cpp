// A log on disks that fail and are full, crashed all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "backend/log/log_events.h"
#include "backend/log/log_subject.h"
#include "backend/log/log_workloads.h"
#include "backend/log/small_log.h"
#include "crash/io_error_sweep.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

using crash::Workload;

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

// What is overwritten and erased is a good part of it.
Workload garbage() {
  Workload workload;
  for (std::uint64_t i = 0; i < 6; ++i) workload.push_back(put(i % 2 == 0 ? "a" : "b", 6000, i));
  workload.push_back(put("c", 3000, 9));
  workload.push_back(erase({"b"}));
  return workload;
}

TEST(LogCrashErrors, EveryOperationOfAShortLife) {
  LogSubject log(small_log_options());
  const Workload workload = {put("a", 6000, 1), put("b", 100, 2), upkeep("reopen"), erase({"a"})};
  expect_sound("errors", crash::sweep_io_errors(log, workload, kFewStates), 200);
}

TEST(LogCrashErrors, EveryOperationOfReclaiming) {
  LogSubject log(small_log_options());
  const crash::Start start = start_after(log, garbage());
  const Workload workload = {put("a", 6000, 11), put("d", 6000, 12), put("a", 20000, 13)};
  expect_sound("errors while reclaiming", crash::sweep_io_errors(log, workload, kFewStates, start),
               200);
}

// A sync that fails is not the end of a batch: it is written once more, elsewhere, and is done.
TEST(LogCrashErrors, AFailedSyncIsSurvivedByWritingAgain) {
  sim::SimDisk disk;
  const auto log = log::open_log(disk, "log", small_log_options()).value();
  const auto write = [&](std::string_view key, std::uint64_t seed) {
    WriteBatch batch;
    batch.put(as_byte_view(key), noise(3000, seed));
    return log->write(batch).outcome();
  };
  ASSERT_EQ(write("a", 1), WriteOutcome::done);
  // The second call of a batch is its sync; the first one writes it.
  disk.set_fault(sim::Fault{.op_number = disk.op_count() + 2, .effect = sim::Effect::none});
  EXPECT_EQ(write("a", 2), WriteOutcome::done);
  disk.set_fault(std::nullopt);
  const sim::OpLog ops = disk.log();
  EXPECT_EQ(std::count_if(ops.begin(), ops.end(),
                          [](const sim::DiskOp& op) { return op.is_sync() && op.failed; }),
            1);
  EXPECT_EQ(count_events(ops).again_count, 1u);
  EXPECT_EQ(write("b", 3), WriteOutcome::done);
  EXPECT_EQ(log->get(as_byte_view("a")).value().value(), noise(3000, 2));
  EXPECT_EQ(log->stats().durable_sequence, 3u);
}

// The next process finds what the dead one had written, durable or not, and must not take the one
// for the other.
TEST(LogCrashErrors, ProcessesThatAreKilled) {
  LogSubject log(small_log_options());
  const Workload workload = {put("a", 600, 1), put("b", 100, 2), erase({"a"}), put("b", 6000, 3)};
  expect_sound("killed", crash::sweep_killed_processes(log, workload, kFewStates), 60);
  const crash::Start start = start_after(log, garbage());
  const Workload more = {put("a", 6000, 11), put("d", 6000, 12), put("a", 20000, 13)};
  expect_sound("killed while reclaiming",
               crash::sweep_killed_processes(log, more, kFewStates, start), 60);
  log::LogOptions options = small_log_options();
  options.user.durability = {.kind = Durability::Kind::every_n, .count = 3};
  LogSubject every_third(options);
  expect_sound("killed, every third",
               crash::sweep_killed_processes(every_third, random_workload(8, 3), kFewStates), 60);
}

TEST(LogCrashErrors, FullDisks) {
  LogSubject log(small_log_options());
  const Workload workload = {put("a", 6000, 1), upkeep("reopen"), put("b", 20000, 2), erase({"a"})};
  expect_sound("full disks", crash::sweep_full_disks(log, workload, kFewStates, 4096), 8);
  const crash::Start start = start_after(log, garbage());
  const Workload more = {put("a", 6000, 11), put("d", 6000, 12), put("a", 20000, 13)};
  expect_sound("full disks with garbage",
               crash::sweep_full_disks(log, more, kFewStates, 2048, start), 8);
}

}  // namespace
}  // namespace varve::test
