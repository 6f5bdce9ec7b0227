// The log of ticks crashed at every point, with recoveries crashed again.
//
// Invariants checked, for each crash state: every tick that was acknowledged as durable is there
// with its bytes, and of the others a prefix; ticks rise; nothing is reported as damage; what was
// opened is durable.
#include <gtest/gtest.h>

#include <iostream>

#include "crash/crash_sweep.h"
#include "journal/tick_log_subject.h"

namespace varve::test {
namespace {

using crash::Workload;
using journal::TickLogOptions;

constexpr sim::CrashLimits kLimits{.all_subsets_atom_count = 8,
                                   .position_count_max = 24,
                                   .sample_count = 16,
                                   .garbage_count_max = 4};

TickLogEvents sweep(std::string_view what, const TickLogOptions& options, const Workload& workload,
                    std::uint64_t seed, std::uint64_t recovery_every = 149) {
  TickLogSubject subject(options);
  const auto run = crash::record_run(subject, workload, {}, {crash::Records{}}, seed);
  EXPECT_TRUE(run) << what << ": " << run.error().message();
  if (!run) return {};
  const auto result = crash::sweep_run(
      subject, *run, {.seed = seed, .limits = kLimits, .recovery_every = recovery_every});
  const TickLogEvents events = count_tick_log_events(run->log);
  std::cout << what << ", seed " << seed << ": " << result.summary() << "\n  " << events.summary()
            << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GT(result.state_count, 4 * result.point_count) << what;
  EXPECT_GT(result.recovery_state_count, 500u) << what;
  return events;
}

// Growth, rotation, truncation, a recycled file, a second opening.
Workload busy_workload(std::uint64_t seed) {
  Workload workload = ticks(1, 13, seed);
  workload.push_back(truncate_step(30, 12));
  const Workload more = ticks(31, 8, seed + 1);
  workload.insert(workload.end(), more.begin(), more.end());
  workload.push_back(upkeep("reopen"));
  workload.push_back(truncate_step(60, 40));
  const Workload last = ticks(61, 5, seed + 2);
  workload.insert(workload.end(), last.begin(), last.end());
  return workload;
}

// Zeros are written ahead where append() waits for syncs; elsewhere every entry makes its file
// grow.
void expect_busy(const TickLogEvents& events, bool has_zeros = true) {
  EXPECT_GE(events.segment_count, 4u);
  EXPECT_GE(events.recycled_count, 1u);
  EXPECT_GE(events.removed_count + events.recycled_count, 2u);
  EXPECT_GE(events.mark_count, 3u);
  EXPECT_EQ(events.growth_count >= 4, has_zeros);
}

TEST(TickLogCrash, EveryTickSynced) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    expect_busy(sweep("every tick", small_tick_log_options(), busy_workload(seed), seed));
  }
}

TEST(TickLogCrash, FirstTicks) {
  sweep("first ticks", small_tick_log_options(), ticks(0, 3, 1), 1, 7);
}

TEST(TickLogCrash, EveryThirdTickSynced) {
  TickLogOptions options = small_tick_log_options();
  options.durability = {.kind = Durability::Kind::every_n, .count = 3};
  for (const std::uint64_t seed : {4, 5, 6}) {
    expect_busy(sweep("every third", options, busy_workload(seed), seed));
  }
}

TEST(TickLogCrash, SyncedByHand) {
  TickLogOptions options = small_tick_log_options();
  options.durability.kind = Durability::Kind::none;
  for (const std::uint64_t seed : {7, 8}) {
    Workload workload = busy_workload(seed);
    for (const std::ptrdiff_t at : {3, 7, 8, 13}) {
      workload.insert(workload.begin() + at, upkeep("sync"));
    }
    expect_busy(sweep("by hand", options, workload, seed), false);
  }
}

TEST(TickLogCrash, LargerSectors) {
  TickLogOptions options = small_tick_log_options();
  options.alignment = 4096;
  options.segment_size = 24 << 10;
  options.durability = {.kind = Durability::Kind::every_n, .count = 2};
  sweep("4096", options, busy_workload(9), 9);
}

// A sync may be through when it is begun, when it is known to be, or at any time between; what is
// appended meanwhile may be on the disk before what it is for.
TEST(TickLogCrash, TicksAppendedWhileASyncRuns) {
  TickLogOptions options = small_tick_log_options();
  options.durability.kind = Durability::Kind::none;
  // Beginning a segment waits for a sync, which nobody else would finish here.
  options.segment_size = 64 << 10;
  for (const char* begin : {"begin sync", "sync, finish later"}) {
    for (const std::uint64_t seed : {10, 11, 12}) {
      Workload workload = ticks(1, 12, seed);
      // From the back, so that the places stay the same.
      for (const std::ptrdiff_t at : {11, 7, 5, 3}) {
        workload.insert(workload.begin() + at, upkeep("finish sync"));
        workload.insert(workload.begin() + at - 2, upkeep(begin));
      }
      sweep(begin, options, workload, seed);
    }
  }
}

}  // namespace
}  // namespace varve::test
