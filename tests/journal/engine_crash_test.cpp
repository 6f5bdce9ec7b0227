// A journal crashed at every point, with recoveries crashed again, with every operation failing,
// and with mistakes in it.
//
// Invariants checked, for each crash state: every tick that was durable is there, and of the others
// a prefix; every tick of the history can be recovered and is itself; nothing is reported as
// damage.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "journal/engine_subject.h"

namespace varve::test {
namespace {

constexpr sim::CrashLimits kLimits{.all_subsets_atom_count = 4,
                                   .position_count_max = 8,
                                   .sample_count = 4,
                                   .garbage_count_max = 2};

// Segments of a few ticks, a snapshot every few, a history of a few more: everything happens.
StorageConfig small(Durability durability) {
  StorageConfig config;
  config.wal_segment_size = 4096;
  config.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 4};
  config.sync_mode = durability;
  config.history_ticks = 6;
  return config;
}

crash::Workload workload(std::size_t step_count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  crash::Workload steps;
  for (std::size_t i = 0; i < step_count; ++i) {
    crash::Step step;
    for (std::uint64_t n = random() % 3 + 1; n > 0; --n) {
      const std::string key = "global " + std::to_string(random() % 6);
      if (random() % 5 == 0) {
        step.changes[key] = std::nullopt;
      } else {
        std::string value(random() % 900 + 1, '\0');
        for (char& c : value) c = static_cast<char>(random());
        step.changes[key] = Bytes::copy_of(value);
      }
    }
    steps.push_back(std::move(step));
    if (random() % 7 == 0) steps.push_back({.changes = {}, .upkeep = "sync"});
    if (random() % 9 == 0) steps.push_back({.changes = {}, .upkeep = "reopen"});
    if (random() % 9 == 0) steps.push_back({.changes = {}, .upkeep = "snapshot"});
  }
  return steps;
}

void sweep(std::string_view what, Durability durability, std::uint64_t seed) {
  EngineSubject subject(small(durability));
  const auto result = crash::sweep_crashes(
      subject, workload(16, seed), {.seed = seed, .limits = kLimits, .recovery_every = 499});
  std::cout << what << ", seed " << seed << ": " << result.summary() << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GT(result.state_count, result.point_count);
}

TEST(EngineCrash, EveryTickSynced) {
  for (const std::uint64_t seed : {1, 2})
    sweep("every tick", {.kind = Durability::Kind::every_commit}, seed);
}

TEST(EngineCrash, EveryThirdTickSynced) {
  for (const std::uint64_t seed : {3, 4})
    sweep("every third tick", {.kind = Durability::Kind::every_n, .count = 3}, seed);
}

TEST(EngineCrash, NeverSyncedUnlessAsked) {
  sweep("no syncs", {.kind = Durability::Kind::none}, 5);
}

TEST(EngineCrash, EveryOperationFails) {
  EngineSubject subject(small({.kind = Durability::Kind::every_commit}));
  const auto result = crash::sweep_io_errors(subject, workload(5, 6),
                                             {.seed = 6,
                                              .limits = {.all_subsets_atom_count = 2,
                                                         .position_count_max = 2,
                                                         .sample_count = 1,
                                                         .garbage_count_max = 1},
                                              .state_every = 31});
  std::cout << result.summary() << "\n";
  EXPECT_TRUE(result.ok());
  EXPECT_GT(result.failed_run_count, 100u);
}

TEST(EngineCrash, FullDisks) {
  EngineSubject subject(small({.kind = Durability::Kind::every_commit}));
  const auto result = crash::sweep_full_disks(subject, workload(8, 7),
                                              {.seed = 7,
                                               .limits = {.all_subsets_atom_count = 2,
                                                          .position_count_max = 2,
                                                          .sample_count = 1,
                                                          .garbage_count_max = 1}},
                                              16384);
  std::cout << result.summary() << "\n";
  EXPECT_TRUE(result.ok());
}

}  // namespace
}  // namespace varve::test
