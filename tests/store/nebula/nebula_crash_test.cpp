// The nebula store crashed at every point of short workloads, each for one thing it does.
#include <gtest/gtest.h>

#include <iostream>

#include "crash/crash_sweep.h"
#include "store/nebula/crash_subject.h"

namespace varve::nebula::test {
namespace {

using crash::Step;
using crash::Workload;

const Step kReopen{.changes = {}, .upkeep = "reopen"};
const Step kCompact{.changes = {}, .upkeep = "compact"};

// Sweeps with several seeds; says how much that was.
void sweep(std::string_view what, const Workload& workload, std::uint64_t point_count_min,
           const crash::Start& start = {}) {
  NebulaCrashSubject subject;
  crash::SweepResult sum;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto run = crash::record_run(subject, workload, start.image, {start.records}, seed);
    ASSERT_TRUE(run) << what << ": " << run.error().message();
    const auto result = crash::sweep_run(subject, *run, {.seed = seed, .recovery_every = 199});
    ASSERT_TRUE(result.ok()) << what << ": " << result.summary();
    sum.point_count += result.point_count;
    sum.state_count += result.state_count;
    sum.recovery_state_count += result.recovery_state_count;
  }
  std::cout << what << ": " << sum.summary() << "\n";
  EXPECT_GE(sum.point_count, 2 * point_count_min) << "crashed too seldom to mean anything";
  EXPECT_GT(sum.state_count, 4 * sum.point_count);
  EXPECT_GT(sum.recovery_state_count, 500U);
}

Step erase(std::initializer_list<std::string_view> keys) {
  Step step;
  for (const std::string_view key : keys) step.changes[std::string(key)] = std::nullopt;
  return step;
}

Step put(std::string_view key, std::string_view text) {
  return {.changes = {{std::string(key), Bytes::copy_of(text)}}};
}

TEST(NebulaCrash, CreationAndFirstCommits) { sweep("creation and commits", small_commits(3), 100); }

TEST(NebulaCrash, ErasureCompactionAndReopening) {
  Workload workload = small_commits(2);
  workload.push_back(erase({"chunk:0,0,0,0", "player:ann"}));
  workload.push_back(kCompact);
  workload.push_back(put("chunk:0,0,0,0", "again"));
  workload.push_back(kReopen);
  workload.push_back(erase({"chunk:0,0,0,0", "chunk:0,2,0,0"}));
  workload.push_back(kReopen);
  sweep("erasure, compaction, reopening", workload, 100);
}

TEST(NebulaCrash, CommitsInWhichOnlyTheTickMoves) {
  Workload workload = {put("chunk:0,0,0,0", "x"), tick_only(5), tick_only(6), kReopen,
                       tick_only(7)};
  sweep("ticks", workload, 30);
}

TEST(NebulaCrash, CommitsWhileAViewIsPinned) {
  Workload workload = small_commits(4);
  workload[1].upkeep = "pin";
  workload[3].upkeep = "unpin";
  workload.push_back(kReopen);
  sweep("pinned", workload, 100);
}

TEST(NebulaCrash, FirstCommitsOnASaveOfAnotherProgram) {
  const crash::Start start = another_programs_save();
  ASSERT_EQ(start.records.size(), 4U);  // world.ron and three chunks
  Workload workload = small_commits(2);
  workload.push_back(erase({"chunk:3,-7,2,1"}));
  workload.push_back(kReopen);
  sweep("another program's save", workload, 60, start);
}

TEST(NebulaCrash, TheCatalogIsRewrittenWhenItHasGrown) {
  // It may grow by 1 MiB; every commit takes at least 4 KiB, and this leaves room for two.
  Workload growth = {put("chunk:0,0,0,0", "old"), put("chunk:0,2,0,0", "old")};
  while (growth.size() < 254) growth.push_back(tick_only(100 + growth.size()));
  const crash::Start start = start_after(growth);
  const auto size_of_catalog = [](const sim::DiskImage& image) {
    return sim::SimDisk(image).info(SaveLayout(kSavePath).catalog()).value().size;
  };
  Workload workload = {put("chunk:0,0,0,0", "x"), erase({"chunk:0,2,0,0"}),
                       put("chunk:0,2,0,0", "back"), erase({"chunk:0,0,0,0"})};
  ASSERT_GE(size_of_catalog(start.image), 1U << 20);
  ASSERT_LT(size_of_catalog(start_after(workload, start).image), 1U << 16) << "never rewritten";
  sweep("growth of the catalog", workload, 40, start);
}

}  // namespace
}  // namespace varve::nebula::test
