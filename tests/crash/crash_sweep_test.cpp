// The driver proves itself: it must find what is wrong with the broken samples and
// nothing wrong with the right one.
#include "crash/crash_sweep.h"

#include <gtest/gtest.h>

#include "crash/sample_stores.h"

namespace varve::crash {
namespace {

TEST(CrashSweep, AtomicSampleHoldsEverywhere) {
  SampleStore store(SampleKind::atomic);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SweepResult result =
        sweep_crashes(store, small_workload(5), {.seed = seed, .recovery_every = 7});
    ASSERT_TRUE(result.ok()) << result.summary();
    ASSERT_GT(result.point_count, 5u * 6) << "crashed too seldom to mean anything";
    ASSERT_GT(result.state_count, 120u);
    ASSERT_GT(result.recovery_state_count, 500u);
  }
}

TEST(CrashSweep, WriteInPlaceIsCaught) {
  SampleStore store(SampleKind::in_place);
  const SweepResult result = sweep_crashes(store, small_workload(2), {});
  EXPECT_FALSE(result.ok()) << result.summary();
}

TEST(CrashSweep, RenameWithoutSyncIsCaught) {
  SampleStore store(SampleKind::rename_without_sync);
  const SweepResult result = sweep_crashes(store, small_workload(1), {});
  EXPECT_FALSE(result.ok()) << result.summary();
}

TEST(CrashSweep, ViolationSaysWhereAndHowToReplay) {
  SampleStore store(SampleKind::in_place);
  const SweepResult result =
      sweep_crashes(store, small_workload(2), {.seed = 42, .violation_count_max = 1});
  ASSERT_EQ(result.violations.size(), 1u);
  EXPECT_EQ(result.violations.front().find("seed 42, crash after operation "), 0u)
      << result.violations.front();
  const SweepResult again =
      sweep_crashes(store, small_workload(2), {.seed = 42, .violation_count_max = 1});
  EXPECT_EQ(again.violations, result.violations);
}

TEST(CrashSweep, ASeedReplaysToTheIdenticalLogAndCount) {
  SampleStore store(SampleKind::atomic);
  const auto first = record_run(store, small_workload(5), {}, {Records{}}, 7);
  const auto second = record_run(store, small_workload(5), {}, {Records{}}, 7);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->log.size(), second->log.size());
  for (std::size_t i = 0; i < first->log.size(); ++i) {
    EXPECT_EQ(describe(first->log[i]), describe(second->log[i]));
    EXPECT_EQ(first->log[i].data, second->log[i].data);
  }
  const SweepResult a = sweep_run(store, *first, {.seed = 7});
  const SweepResult b = sweep_run(store, *second, {.seed = 7});
  EXPECT_EQ(a.state_count, b.state_count);
}

// A store that loses nothing but shows what was never written.
class InventingStore final : public Subject {
 public:
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
    auto session = atomic_.open(vfs);
    if (!session) return session;
    return std::make_unique<InventingSession>(std::move(*session));
  }

 private:
  class InventingSession final : public Session {
   public:
    explicit InventingSession(std::unique_ptr<Session> inner) : inner_(std::move(inner)) {}
    Status apply(const Step& step) override { return inner_->apply(step); }
    Result<Records> read_all() override {
      auto records = inner_->read_all();
      if (records && !records->empty()) (*records)["ghost"] = Bytes();
      return records;
    }
    Status close() override { return inner_->close(); }

   private:
    std::unique_ptr<Session> inner_;
  };
  SampleStore atomic_{SampleKind::atomic};
};

TEST(CrashSweep, ARecordNobodyWroteIsCaught) {
  InventingStore store;
  const SweepResult result = sweep_crashes(store, small_workload(1), {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.violations.front().find("'ghost' should not be there"), std::string::npos);
}

// A store whose recovery destroys what it recovers: it removes the file and writes
// it anew. Only crashes during recovery can show that.
class RewritingStore final : public Subject {
 public:
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
    if (const auto file = vfs.open("world", OpenMode::read)) {
      const auto contents = (*file)->read_all(1 << 20);
      if (!contents) return contents.error();
      if (auto removed = vfs.remove("world"); !removed) return removed.error();
      const auto anew = vfs.open("world", OpenMode::create);
      if (!anew) return anew.error();
      if (auto written = (*anew)->write_at(0, *contents); !written) return written.error();
      if (auto synced = (*anew)->sync_data(); !synced) return synced.error();
      if (auto synced = vfs.sync_dir("."); !synced) return synced.error();
    }
    return atomic_.open(vfs);
  }

 private:
  SampleStore atomic_{SampleKind::atomic};
};

TEST(CrashSweep, RecoveryThatCannotBeInterruptedIsCaught) {
  RewritingStore store;
  EXPECT_TRUE(sweep_crashes(store, small_workload(3), {}).ok()) << "harmless unless crashed twice";
  const SweepResult result = sweep_crashes(store, small_workload(3), {.recovery_every = 1});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.violations.front().find("crashed again during recovery"), std::string::npos)
      << result.summary();
}

}  // namespace
}  // namespace varve::crash
