// At which pace a save beside a journal is written.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "io/write_pace.h"
#include "sample_world.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr ChunkPos kHere(0, 0);

// Whether the thread that commits is paced, at first and, once somebody may wait, after all.
struct PaceProbe {
  std::latch begun{1};
  std::latch may_end{1};
  bool was_paced = false;
  bool is_paced_at_end = false;

  // A minute at the most, so that a save nobody hurries fails and does not hang.
  Status run() {
    was_paced = is_paced();
    begun.count_down();
    may_end.wait();
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (is_paced() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    is_paced_at_end = is_paced();
    return {};
  }
};

struct JournaledWorld {
  JournaledWorld() : flat({.journal = JournalConfig{.path = dir.file("journal")}}) {
    EXPECT_TRUE(flat.world->load_now(kHere));
    EXPECT_TRUE(flat.set(kHere, 0, 1));
    flat.world->tick();
  }
  ScratchDir dir;
  FlatWorld flat;
};

TEST(WorldPace, ASaveIsPacedUntilSomebodyWaitsForIt) {
  JournaledWorld sample;
  PaceProbe probe;
  sample.flat.control.before_commit([&](const Commit&) { return probe.run(); });
  SaveHandle save = sample.flat.world->save();
  probe.begun.wait();
  probe.may_end.count_down();
  EXPECT_TRUE(save.wait());
  EXPECT_TRUE(probe.was_paced);
  EXPECT_FALSE(probe.is_paced_at_end);
  sample.flat.control.before_commit({});
}

TEST(WorldPace, ClosingHurriesWhatRuns) {
  JournaledWorld sample;
  PaceProbe probe;
  sample.flat.control.before_commit([&](const Commit&) { return probe.run(); });
  SaveHandle save = sample.flat.world->save();
  probe.begun.wait();
  // Only the one that runs: closing may make another.
  sample.flat.control.before_commit({});
  probe.may_end.count_down();
  EXPECT_TRUE(sample.flat.world->close());
  EXPECT_TRUE(save.is_stored());
  EXPECT_TRUE(probe.was_paced);
  EXPECT_FALSE(probe.is_paced_at_end);
}

// A copy takes long, and the game goes on beside it: its saves keep their pace.
TEST(WorldPace, WaitingForACopyHurriesNobody) {
  JournaledWorld sample;
  std::latch begun(1);
  std::atomic<bool> may_end = false;
  bool was_hurried = false;
  sample.flat.control.before_commit([&](const Commit&) {
    begun.count_down();
    for (;;) {
      // In this order: behind the end the save itself is waited for.
      const bool is_hurried = !is_paced();
      if (may_end) return Status();
      was_hurried = was_hurried || is_hurried;
    }
  });
  SaveHandle save = sample.flat.world->save();
  begun.wait();
  SaveHandle copy = sample.flat.world->save_to(fresh_memory_path());
  EXPECT_FALSE(copy.wait_for(std::chrono::milliseconds(20))) << "it is made behind the save";
  may_end = true;
  EXPECT_TRUE(save.wait());
  EXPECT_TRUE(copy.wait());
  EXPECT_FALSE(was_hurried);
  sample.flat.control.before_commit({});
}

TEST(WorldPace, WithoutAJournalNothingIsPaced) {
  FlatWorld flat;
  std::latch begun(1);
  bool was_paced = true;
  flat.control.before_commit([&](const Commit&) {
    was_paced = is_paced();
    begun.count_down();
    return Status();
  });
  ASSERT_TRUE(flat.world->load_now(kHere));
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  SaveHandle save = flat.world->save();
  begun.wait();
  EXPECT_TRUE(save.wait());
  EXPECT_FALSE(was_paced);
}

}  // namespace
}  // namespace varve
