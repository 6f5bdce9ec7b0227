// The log crashed at every point of workloads that are seen to do what they are swept for, with
// recoveries crashed again.
//
// Invariants checked, for each crash state: every batch that was promised is there, and of the
// others a prefix; what is held shows the same; nothing is reported as damage; the counts fit what
// is shown.
#include <gtest/gtest.h>

#include <iostream>

#include "backend/log/log_events.h"
#include "backend/log/log_subject.h"
#include "backend/log/log_workloads.h"
#include "backend/log/small_log.h"
#include "crash/crash_sweep.h"

namespace varve::test {
namespace {

using crash::Workload;

constexpr sim::CrashLimits kLimits{.all_subsets_atom_count = 5,
                                   .position_count_max = 12,
                                   .sample_count = 6,
                                   .garbage_count_max = 2};

// Returns what the log did meanwhile.
LogEvents sweep(std::string_view what, LogSubject& subject, const Workload& workload,
                std::uint64_t seed, std::uint64_t recovery_every = 499) {
  const auto run = crash::record_run(subject, workload, {}, {crash::Records{}}, seed);
  EXPECT_TRUE(run) << what << ", seed " << seed << ": " << run.error().message();
  if (!run) return {};
  const auto result = crash::sweep_run(
      subject, *run, {.seed = seed, .limits = kLimits, .recovery_every = recovery_every});
  const LogEvents events = count_events(run->log);
  std::cout << what << ", seed " << seed << ": " << result.summary() << "\n  " << events.summary()
            << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GT(result.state_count, 10 * result.point_count) << what;
  EXPECT_GT(result.recovery_state_count, 1000u) << what;
  return events;
}

void expect_busy(const LogEvents& events, bool has_holes = true) {
  EXPECT_GE(events.segment_count, 8u);
  EXPECT_GE(events.checkpoint_count, 4u);
  EXPECT_GE(events.moved_segment_count, 1u);
  EXPECT_GE(events.removed_count, 4u);
  EXPECT_GE(events.recycled_count, 1u);
  EXPECT_GE(events.large_batch_count, 1u);
  EXPECT_EQ(events.hole_count > 0, has_holes);
}

TEST(LogCrash, EverythingALogDoes) {
  for (const std::uint64_t seed : {6, 11, 12}) {
    LogSubject log(small_log_options());
    expect_busy(sweep("busy", log, busy_workload(seed), seed));
  }
}

TEST(LogCrash, FirstBatches) {
  LogSubject log(small_log_options());
  sweep("first batches", log, random_workload(3, 1), 1, 97);
}

TEST(LogCrash, WithoutHoles) {
  LogSubject log(small_log_options());
  log.set_holes(false);
  expect_busy(sweep("without holes", log, busy_workload(11), 11), false);
}

// Everything comes from the segments then, and must be the same.
TEST(LogCrash, WithoutItsCheckpoint) {
  LogSubject log(small_log_options());
  log.set_forgetful(true);
  const LogEvents events = sweep("without its checkpoint", log, busy_workload(6), 6);
  EXPECT_GE(events.moved_segment_count, 1u);
  EXPECT_GE(events.removed_count, 4u);
}

TEST(LogCrash, WhileASnapshotIsHeld) {
  LogSubject log(small_log_options());
  Workload workload = random_workload(12, 6);
  workload[3].upkeep = "hold snapshot";
  workload[9].upkeep = "release snapshot";
  const LogEvents events = sweep("with a snapshot", log, workload, 6);
  EXPECT_GE(events.removed_count, 1u);
}

TEST(LogCrash, WhileAReaderHasItOpen) {
  LogSubject log(small_log_options());
  Workload workload = random_workload(12, 6);
  workload[3].upkeep = "hold reader";
  workload[9].upkeep = "release reader";
  const LogEvents events = sweep("with a reader", log, workload, 6);
  EXPECT_GE(events.removed_count, 1u);
}

TEST(LogCrash, WithASyncNowAndThen) {
  log::LogOptions options = small_log_options();
  options.user.durability = {.kind = Durability::Kind::every_n, .count = 3};
  // Reclaiming syncs too.
  options.reclaim_size_min = 64 << 10;
  LogSubject every_third(options);
  sweep("every third", every_third, random_workload(10, 2), 2);
  every_third.set_forgetful(true);
  sweep("every third, without its checkpoint", every_third, random_workload(8, 3), 3);

  options.user.durability.kind = Durability::Kind::none;
  LogSubject by_hand(options);
  Workload workload = random_workload(10, 4);
  workload[3] = upkeep("sync");
  workload[7] = upkeep("sync");
  sweep("by hand", by_hand, workload, 4);
}

}  // namespace
}  // namespace varve::test
