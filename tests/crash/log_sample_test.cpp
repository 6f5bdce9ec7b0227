// The driver on a log: what only some of the crash states can show.
#include "crash/log_sample.h"

#include <gtest/gtest.h>

#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "crash/mutants.h"
#include "crash/sample_stores.h"

namespace varve::crash {
namespace {

// Blocks of three pages, so that a log can end in the middle of one.
Workload large_workload(std::size_t commit_count) {
  Workload workload = small_workload(commit_count);
  for (std::size_t i = 0; i < commit_count; ++i) {
    workload[i].changes["terrain"] = Bytes::copy_of(std::string(9000, static_cast<char>('a' + i)));
  }
  return workload;
}

TEST(LogSample, HoldsEverywhere) {
  LogSample store({});
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SweepOptions options{.seed = seed, .recovery_every = 11};
    const SweepResult small = sweep_crashes(store, small_workload(5), options);
    ASSERT_TRUE(small.ok()) << small.summary();
    ASSERT_GT(small.recovery_state_count, 100u);
    const SweepResult large = sweep_crashes(store, large_workload(3), options);
    ASSERT_TRUE(large.ok()) << large.summary();
  }
}

// Among them the sync that fails, the game that is told so and opens the world again,
// and the page cache that still shows what never reached the disk.
TEST(LogSample, HoldsWhateverFails) {
  LogSample store({});
  const IoErrorResult result = sweep_io_errors(store, small_workload(3), {});
  EXPECT_TRUE(result.ok()) << result.summary();
}

TEST(LogSample, EveryMutantIsCaught) {
  LogSample store({});
  const MutantResult result = sweep_mutants(store, small_workload(3), {});
  EXPECT_TRUE(result.survivors.empty()) << result.summary();
  EXPECT_GE(result.caught_count, 3u * 3) << result.summary();
}

TEST(LogSample, StepsThatAreNotSyncedYetMayBeLostFromTheEnd) {
  LogSample store({.sync_every = 3});
  const SweepResult result = sweep_crashes(store, small_workload(7), {.recovery_every = 11});
  EXPECT_TRUE(result.ok()) << result.summary();
}

TEST(LogSample, HidingThatAStepIsNotSyncedIsCaught) {
  LogSample store({.sync_every = 3, .hides_unsynced = true});
  EXPECT_FALSE(sweep_crashes(store, small_workload(2), {}).ok());
}

TEST(LogSample, RefusingATailThatIsCutShortIsCaught) {
  LogSample store({.refuses_short_tail = true});
  const SweepResult result = sweep_crashes(store, large_workload(2), {});
  EXPECT_FALSE(result.ok()) << "only a size between the old and the new shows it";
}

TEST(LogSample, DoingWithoutAChecksumIsCaught) {
  LogSample store({.has_no_checksum = true});
  EXPECT_FALSE(sweep_crashes(store, large_workload(2), {}).ok());
}

}  // namespace
}  // namespace varve::crash
