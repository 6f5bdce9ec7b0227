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

// Two sectors, written in turn, each valid if the marks at its ends are there. Only a
// sector that holds some of both versions can show that a checksum is missing.
class TwoSlotStore final : public Subject {
 public:
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
    auto file = vfs.open("slots", OpenMode::create);
    if (!file) return file.error();
    auto session = std::make_unique<TwoSlotSession>(std::move(*file));
    if (auto synced = vfs.sync_dir("."); !synced) return synced.error();
    if (auto read = session->read(); !read) return read.error();
    return session;
  }

 private:
  class TwoSlotSession final : public Session {
   public:
    explicit TwoSlotSession(std::unique_ptr<File> file) : file_(std::move(file)) {}
    Status read() {
      char slots[2][512] = {};
      if (auto got = file_->read_at(0, std::as_writable_bytes(std::span(slots))); !got) {
        return got.error();
      }
      for (const auto& slot : slots) {
        if (slot[0] != '[' || slot[511] != ']' || slot[1] <= turn_) continue;
        turn_ = slot[1];
        records_ = {{"value", Bytes::copy_of(std::string_view(slot + 2, 500))}};
      }
      return {};
    }
    Status apply(const Step& step) override {
      const Bytes value = *step.changes.at("value");
      std::string slot = "[" + std::string(1, static_cast<char>(turn_ + 1));
      slot += value.text();
      slot.resize(511, ' ');
      slot += ']';
      if (auto put = file_->write_at(512 * (turn_ % 2), as_byte_view(slot)); !put) return put;
      if (auto synced = file_->sync_data(); !synced) return synced;
      ++turn_;
      records_ = {{"value", value}};
      return {};
    }
    Result<Records> read_all() override { return records_; }
    Status close() override { return file_->close(); }

   private:
    std::unique_ptr<File> file_;
    Records records_;
    int turn_ = 0;
  };
};

TEST(CrashSweep, ASectorThatMixesOldAndNewIsCaught) {
  TwoSlotStore store;
  Workload workload;
  for (const char c : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    workload.push_back({.changes = {{"value", Bytes::copy_of(std::string(500, c))}}});
  }
  EXPECT_TRUE(sweep_crashes(store, workload, {.limits = {.garbage_count_max = 0}}).ok());
  EXPECT_FALSE(sweep_crashes(store, workload, {}).ok());
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
