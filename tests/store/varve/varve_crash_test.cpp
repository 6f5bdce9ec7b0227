// A varve save crashed at every point of workloads that are seen to do what they are swept for,
// with recoveries crashed again.
//
// Invariants checked, for each crash state: it opens, or there is none yet; it holds exactly the
// records of the last commit that was acknowledged or of the one under way; nothing is reported as
// damage, and verify() finds nothing.
#include <gtest/gtest.h>

#include <iostream>

#include "backend/log/log_events.h"
#include "backend/log/log_workloads.h"
#include "crash/crash_sweep.h"
#include "store/varve/crash_subject.h"

namespace varve::test {
namespace {

using crash::Step;
using crash::Workload;

constexpr sim::CrashLimits kLimits{.all_subsets_atom_count = 4,
                                   .position_count_max = 10,
                                   .sample_count = 4,
                                   .garbage_count_max = 2};

LogEvents sweep(std::string_view what, crash::Subject& subject, const Workload& workload,
                std::uint64_t seed, std::uint64_t recovery_every) {
  const auto run = crash::record_run(subject, workload, {}, {crash::Records{}}, seed);
  EXPECT_TRUE(run) << what << ", seed " << seed << ": " << run.error().message();
  if (!run) return {};
  const auto result = crash::sweep_run(
      subject, *run, {.seed = seed, .limits = kLimits, .recovery_every = recovery_every});
  const LogEvents events = count_events(run->log);
  std::cout << what << ", seed " << seed << ": " << result.summary() << "\n  " << events.summary()
            << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GT(result.state_count, 8 * result.point_count) << what;
  EXPECT_GT(result.recovery_state_count, 300u) << what;
  return events;
}

// Large chunks that replace each other, in several spaces, beside small records of all kinds.
Workload busy_workload(std::uint64_t seed) {
  Workload workload = crash::store_workload(10, {});
  for (std::size_t i = 0; i < workload.size(); ++i) {
    const std::size_t size = i % 4 == 3 ? 18'000 : 3000 + 700 * i;
    const std::string space = i % 3 == 0 ? "" : "planet " + std::to_string(i % 3) + "/";
    workload[i].changes["chunk:" + space + "5,-5"] = noise(size, seed + i);
    workload[i].changes["chunk:1,2,3"] = noise(2000, seed + 100 + i);
    if (i % 2 == 1) workload[i].changes["global:" + std::string(255, 'g')] = noise(40, seed + i);
  }
  workload.insert(workload.begin() + 6, Step{.changes = {}, .upkeep = "reopen"});
  workload.push_back({.changes = {}, .upkeep = "compact"});
  workload.push_back({.changes = {}, .upkeep = "verify"});
  return workload;
}

TEST(VarveCrash, EverythingASaveDoes) {
  for (const std::uint64_t seed : {1, 2}) {
    crash::StoreCrashSubject save(open_or_create_save);
    const LogEvents events = sweep("busy", save, busy_workload(seed), seed, 997);
    EXPECT_GE(events.segment_count, 6u);
    EXPECT_GE(events.checkpoint_count, 3u);
    EXPECT_GE(events.moved_segment_count, 1u);
    EXPECT_GE(events.removed_count, 2u);
    EXPECT_GE(events.large_batch_count, 1u);
  }
}

// Payloads that become shared, are joined, left and given up, one after the other and several in
// one commit, with a save that is opened again and forgets what it has seen.
TEST(VarveCrash, ChunksThatShareTheirPayloads) {
  crash::StoreCrashSubject save(open_or_create_sharing_save);
  Workload workload;
  for (std::uint64_t i = 0; i < 12; ++i) {
    Step step;
    for (std::uint64_t j = 0; j < 4; ++j) {
      const std::string key = "chunk:" + std::to_string((i + j) % 6) + ",0";
      const bool is_erased = (i + 2 * j) % 5 == 4;
      step.changes[key] =
          is_erased ? std::nullopt : std::optional(noise(700, i % 4 == 3 ? 9 : (i / 4 + j) % 3));
    }
    step.changes["player:ann"] = noise(20, i);
    workload.push_back(std::move(step));
  }
  workload.insert(workload.begin() + 5, Step{.changes = {}, .upkeep = "reopen"});
  workload.push_back({.changes = {}, .upkeep = "compact"});
  workload.push_back({.changes = {{"chunk:0,0", std::nullopt},
                                  {"chunk:1,0", std::nullopt},
                                  {"chunk:2,0", std::nullopt},
                                  {"chunk:3,0", std::nullopt},
                                  {"chunk:4,0", std::nullopt},
                                  {"chunk:5,0", std::nullopt}}});
  workload.push_back({.changes = {}, .upkeep = "verify"});
  sweep("sharing", save, workload, 1, 199);
}

TEST(VarveCrash, CreationAndFirstCommits) {
  crash::StoreCrashSubject save(open_or_create_save);
  sweep("creation and commits", save, crash::store_workload(3, {}), 1, 97);
}

// Backups are copied and change their names beside the save, which is to notice nothing of it.
TEST(VarveCrash, WithBackupsBesideIt) {
  crash::StoreCrashSubject save(open_or_create_save);
  Workload workload = crash::store_workload(4, {});
  for (std::size_t i = 1; i < workload.size(); ++i) workload[i].upkeep = "backup";
  workload.push_back({.changes = {}, .upkeep = "reopen"});
  workload.push_back({.changes = {}, .upkeep = "verify"});
  sweep("backups", save, workload, 1, 997);
}

// "A save or nothing", whatever it is called.
TEST(VarveCrash, SavesThatAreMadeRenamedAndRemoved) {
  FolderSubject folder;
  sweep("folders", folder,
        {create_step("world"), commit_step("world", "stone"),
         rename_step("world", "other", "stone"), create_step("world"), remove_step("world"),
         commit_step("other", "earth"), remove_step("other"), create_step("other")},
        1, 199);
}

}  // namespace
}  // namespace varve::test
