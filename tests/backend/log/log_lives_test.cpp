// Many lives of one log, each of which begins with what a crash left of the one before.
//
// A sweep looks at everything one crash can do to a young log. What grows over several of them,
// batches written again, copies nobody knows of, segments that came back, needs a log that has
// been through them all. One crash ends each life here, and all come from the seed.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "backend/log/log_events.h"
#include "backend/log/log_subject.h"
#include "backend/log/log_workloads.h"
#include "backend/log/small_log.h"
#include "crash/recorded_run.h"
#include "io/sim/disk_replay.h"

namespace varve::test {
namespace {

using crash::Records;

class Lives {
 public:
  Lives(log::LogOptions options, std::uint64_t seed)
      : options_(std::move(options)), random_(seed), allowed_({Records{}}) {}

  // In one life of so many the checkpoint is lost before it begins; 0: in none.
  std::uint64_t forgets_every = 0;
  bool stutters = false;
  LogEvents events;

  void live() {
    LogSubject subject(options_);
    subject.set_stuttering(stutters);
    subject.set_forgetful(forgets_every != 0 && random_() % forgets_every == 0);
    // Another program has other salts.
    options_.seed = random_() | 1;
    const auto run = crash::record_run(subject, workload(), image_, allowed_, 1);
    ASSERT_TRUE(run) << run.error().message();
    events += count_events(run->log);
    crash_in(*run);
  }

 private:
  // In some lives much is erased: what held that down must not go too early.
  crash::Workload workload() {
    crash::Workload workload = random_workload(2 + random_() % 12, random_());
    if (random_() % 2 == 0) return workload;
    for (crash::Step& step : workload) {
      if (random_() % 2 == 0) step = erase({"chunk" + std::to_string(random_() % 6)});
    }
    return workload;
  }

  // At any operation, with any part of what was pending.
  void crash_in(const crash::RecordedRun& run) {
    sim::DiskReplay replay(run.start);
    std::optional<std::uint64_t> mark;
    const std::size_t op_count = random_() % (run.log.size() + 1);
    for (std::size_t i = 0; i < op_count; ++i) {
      ASSERT_TRUE(replay.step(run.log[i]));
      if (run.log[i].kind == sim::OpKind::mark) mark = run.log[i].value;
    }
    // From nearly nothing to nearly everything: a half of many is always much the same.
    const std::uint64_t share = random_() % 101;
    sim::CrashChoice choice;
    for (std::size_t i = 0; i < replay.pending().size(); ++i) {
      choice.kept.push_back(random_() % 100 < share);
    }
    std::vector<Records> allowed;
    for (const Records* records : crash::allowed_after(run, mark)) allowed.push_back(*records);
    allowed_ = std::move(allowed);
    image_ = replay.crash(choice);
  }

  log::LogOptions options_;
  std::mt19937_64 random_;
  sim::DiskImage image_;
  std::vector<Records> allowed_;
};

constexpr std::uint64_t kSeedCount = 60;
constexpr int kLifeCount = 40;

void live(std::string_view what, const log::LogOptions& options, std::uint64_t forgets_every,
          bool stutters = false) {
  LogEvents events;
  for (std::uint64_t seed = 1; seed <= kSeedCount; ++seed) {
    Lives lives(options, seed);
    lives.forgets_every = forgets_every;
    lives.stutters = stutters;
    for (int i = 0; i < kLifeCount; ++i) {
      lives.live();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << what << ", seed " << seed << ", life " << i;
    }
    events += lives.events;
  }
  std::cout << what << ": " << kSeedCount * kLifeCount << " lives, " << events.summary() << "\n";
  EXPECT_GT(events.again_count, kSeedCount);
  if (options.background) return;  // How far the thread comes is its own affair.
  EXPECT_GT(events.moved_segment_count, kSeedCount);
  EXPECT_GT(events.recycled_count, kSeedCount);
  EXPECT_GT(events.hole_count, kSeedCount);
}

log::LogOptions rare_checkpoints() {
  log::LogOptions options = small_log_options();
  options.checkpoint_batch_count_min = 40;
  options.checkpoint_size_min = 1 << 20;
  return options;
}

TEST(LogLives, WithManyCheckpoints) { live("many checkpoints", small_log_options(), 0); }

TEST(LogLives, WithFewCheckpoints) { live("few checkpoints", rare_checkpoints(), 0); }

TEST(LogLives, WithCheckpointsThatAreLost) {
  live("lost checkpoints", small_log_options(), 2);
  live("few and lost checkpoints", rare_checkpoints(), 3);
}

// Of two changes of one key in one batch the last one counts, wherever copies of them went.
TEST(LogLives, WithBatchesThatChangeEachRecordTwice) {
  live("twice", small_log_options(), 0, true);
  live("twice, lost checkpoints", small_log_options(), 2, true);
  live("twice, few and lost checkpoints", rare_checkpoints(), 3, true);
}

TEST(LogLives, WithBatchesThatAreNotSynced) {
  log::LogOptions options = rare_checkpoints();
  options.user.durability = {.kind = Durability::Kind::every_n, .count = 3};
  live("every third", options, 0);
  live("every third, lost checkpoints", options, 3);
  options.user.durability.kind = Durability::Kind::none;
  // Reclaiming syncs.
  options.reclaim_size_min = 96 << 10;
  live("by hand, lost checkpoints", options, 3);
}

// The thread's operations fall where they fall, so that a failure is not had again by its seed.
TEST(LogLives, WithAThread) {
  log::LogOptions options = small_log_options();
  options.background = true;
  live("a thread", options, 0);
  options.user.durability.kind = Durability::Kind::none;
  live("a thread, by hand, lost checkpoints", options, 3);
}

}  // namespace
}  // namespace varve::test
