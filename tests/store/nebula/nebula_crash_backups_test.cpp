// The backups of a nebula save under crashes.
//
// Invariants checked, for each crash state: backup k holds exactly the generation it held
// before the rotation or the one it was to get, whole; it opens by itself; none that was there
// is lost. The commit after a crash keeps no backups: that a rotation is taken up where it was
// left is for nebula_crash_errors_test.cpp.
#include <gtest/gtest.h>

#include <iostream>

#include "crash/crash_sweep.h"
#include "store/nebula/crash_subject.h"

namespace varve::nebula::test {
namespace {

using crash::Step;
using crash::Workload;

const Step kReopen{.changes = {}, .upkeep = "reopen"};

Step put(std::string_view key, std::string_view text, std::uint64_t tick) {
  Step step = tick_only(tick);
  step.changes[std::string(key)] = Bytes::copy_of(text);
  return step;
}

// Three commits with backups of each: all three places are taken.
crash::Start with_two_backups() {
  Workload commits = {put("chunk:0,0,0,0", "first", 1), put("chunk:0,1,0,0", "second", 2),
                      put("chunk:0,0,0,0", "third", 3)};
  return start_after(with_backups(commits));
}

crash::SweepResult sweep(const Workload& workload, const crash::Start& start, std::uint64_t seed) {
  NebulaCrashSubject subject;
  const auto run = crash::record_run(subject, workload, start.image, {start.records}, seed);
  if (!run) return {.violations = {run.error().message()}};
  return crash::sweep_run(subject, *run, {.seed = seed, .recovery_every = 499});
}

void sweep(std::string_view what, const Workload& workload, std::uint64_t point_count_min,
           const crash::Start& start = {}) {
  crash::SweepResult sum;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const crash::SweepResult result = sweep(workload, start, seed);
    ASSERT_TRUE(result.ok()) << what << ": " << result.summary();
    sum.point_count += result.point_count;
    sum.state_count += result.state_count;
    sum.recovery_state_count += result.recovery_state_count;
  }
  std::cout << what << ": " << sum.summary() << "\n";
  EXPECT_GE(sum.point_count, 2 * point_count_min) << "crashed too seldom to mean anything";
  EXPECT_GT(sum.state_count, 4 * sum.point_count);
}

TEST(NebulaCrashBackups, AreMadeOneAfterTheOther) {
  sweep("first backups", with_backups(small_commits(3)), 200);
}

TEST(NebulaCrashBackups, AreRotated) {
  const crash::Start start = with_two_backups();
  ASSERT_TRUE(start.records.contains("backup2/"));
  Workload commits = {put("chunk:0,0,0,0", "fourth", 4), tick_only(5), kReopen,
                      put("player:ann", "here", 6)};
  commits.back().changes["chunk:0,1,0,0"] = std::nullopt;
  sweep("rotation", with_backups(commits, start.records), 100, start);
}

TEST(NebulaCrashBackups, AreRemovedWhole) {
  const crash::Start start = with_two_backups();
  const Step commit = put("chunk:0,2,0,0", "x", 4);
  sweep("keeping one", with_fewer_backups(commit, 1, start.records), 30, start);
  sweep("keeping none", with_fewer_backups(commit, 0, start.records), 30, start);
}

TEST(NebulaCrashBackups, TheirCatalogsAreRewrittenWhenTheyHaveGrown) {
  crash::Records records;
  Workload growth;
  for (std::uint64_t tick = 1; growth.size() < 258; ++tick) {
    Step step = put("chunk:0,0,0,0", std::to_string(tick), tick);
    step.upkeep = "keep 2";
    growth.push_back(std::move(step));
  }
  const crash::Start start = start_after(growth);
  const Workload commits = {put("chunk:0,0,0,0", "x", 300), put("chunk:0,0,0,0", "y", 301)};
  sweep("grown catalogs", with_backups(commits, start.records), 60, start);
}

// A commit for which the backups move on as they are: the last one goes, the first takes its
// name, and a new one is made, each by itself.
Workload with_moves(Step commit, const crash::Records& start) {
  Workload steps(4);
  for (const auto& [key, value] : start) {
    if (key.starts_with("backup2/")) steps[0].changes[key] = std::nullopt;
    if (!key.starts_with("backup")) steps[2].changes["backup1/" + key] = value;
    if (!key.starts_with("backup1/")) continue;
    steps[1].changes[key] = std::nullopt;
    steps[1].changes["backup2/" + key.substr(8)] = value;
  }
  steps[2].changes["backup1/"] = Bytes();
  steps[3] = std::move(commit);
  for (Step& step : steps) step.upkeep = "waits";
  steps[3].upkeep = "keep 2";
  return steps;
}

// A backup whose catalog went on by itself is not brought up to date: it moves on as it is.
TEST(NebulaCrashBackups, OneThatWentOnByItselfMovesOn) {
  crash::Start start = with_two_backups();
  sim::SimDisk disk(start.image);
  {
    const auto backup = NebulaStore::open(disk, backup_path(kSavePath, 1)).value();
    Progress progress;
    for (std::uint64_t tick = 100; tick < 110; ++tick) {
      ASSERT_TRUE(backup->commit({.tick = tick}, progress));
    }
    ASSERT_TRUE(backup->close());
  }
  start.image = disk.image();
  start.records["backup1/tick"] = Bytes::copy_of("109");
  sweep("moving on", with_moves({put("chunk:0,3,0,0", "x", 4)}, start.records), 60, start);
}

}  // namespace
}  // namespace varve::nebula::test
