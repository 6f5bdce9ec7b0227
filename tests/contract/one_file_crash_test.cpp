// The sample disk store under the crash driver. A format to come is put through the same,
// and through the mutants of its own protocol.
#include <gtest/gtest.h>

#include "contract/one_file_store.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "crash/store_subject.h"

namespace varve::test {
namespace {

Result<std::unique_ptr<Store>> open_or_create(Vfs& vfs) {
  return OneFileStore::open_or_create(vfs, "world");
}

crash::Workload workload(std::size_t commit_count) {
  crash::Workload steps = crash::store_workload(commit_count, {});
  // Backups move beside the save while it is replaced, and the lock is taken again.
  for (std::size_t i = 1; i < steps.size(); i += 2) steps[i].upkeep = "backup";
  steps.push_back({.changes = {}, .upkeep = "reopen"});
  steps.push_back({.changes = {}, .upkeep = "verify"});
  return steps;
}

TEST(OneFileCrash, EveryCrashLeavesOneGeneration) {
  crash::StoreCrashSubject subject(open_or_create);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto result =
        crash::sweep_crashes(subject, workload(4), {.seed = seed, .recovery_every = 29});
    ASSERT_TRUE(result.ok()) << result.summary();
    ASSERT_GT(result.point_count, 40u) << "crashed too seldom to mean anything";
    ASSERT_GT(result.recovery_state_count, 50u);
  }
}

TEST(OneFileCrash, EveryFailedOperationLeavesOneGeneration) {
  crash::StoreCrashSubject subject(open_or_create);
  const auto result = crash::sweep_io_errors(subject, workload(2), {});
  EXPECT_TRUE(result.ok()) << result.summary();
  EXPECT_GT(result.failed_run_count, 100u);
}

// A store that acknowledges at once and commits a step late.
class LateStore final : public crash::Subject {
 public:
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    auto session = inner_.open(vfs);
    if (!session) return session;
    return std::make_unique<LateSession>(std::move(*session));
  }

 private:
  class LateSession final : public crash::Session {
   public:
    explicit LateSession(std::unique_ptr<crash::Session> inner) : inner_(std::move(inner)) {}
    Status apply(const crash::Step& step) override {
      Status before = flush();
      waiting_ = step;
      return before;
    }
    Result<crash::Records> read_all() override {
      auto records = inner_->read_all();
      if (!records) return records;
      return crash::after(*std::move(records), waiting_);
    }
    Status close() override {
      if (Status flushed = flush(); !flushed) return flushed;
      return inner_->close();
    }

   private:
    Status flush() { return inner_->apply(std::exchange(waiting_, {})); }

    std::unique_ptr<crash::Session> inner_;
    crash::Step waiting_;
  };
  crash::StoreCrashSubject inner_{open_or_create};
};

TEST(OneFileCrash, ACommitThatIsLateIsCaught) {
  LateStore store;
  EXPECT_FALSE(crash::sweep_crashes(store, workload(3), {}).ok());
}

}  // namespace
}  // namespace varve::test
