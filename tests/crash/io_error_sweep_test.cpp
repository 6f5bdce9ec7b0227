#include "crash/io_error_sweep.h"

#include <gtest/gtest.h>

#include "crash/sample_stores.h"

namespace varve::crash {
namespace {

TEST(IoErrorSweep, AtomicSampleHoldsWhateverFails) {
  SampleStore store(SampleKind::atomic);
  const IoErrorResult result = sweep_io_errors(store, small_workload(3), {});
  EXPECT_TRUE(result.ok()) << result.summary();
  // Two codes, once and for ever, at each of the operations of three commits.
  EXPECT_GT(result.run_count, 4u * 3 * 4);
  EXPECT_GT(result.failed_run_count, result.run_count / 2);
}

// Acknowledges a commit though its sync failed.
class CarelessStore final : public Subject {
 public:
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
    auto session = atomic_.open(vfs);
    if (!session) return session;
    return std::make_unique<CarelessSession>(std::move(*session));
  }

 private:
  class CarelessSession final : public Session {
   public:
    explicit CarelessSession(std::unique_ptr<Session> inner) : inner_(std::move(inner)) {}
    Status apply(const Step& step) override {
      (void)inner_->apply(step);
      return {};
    }
    Result<Records> read_all() override { return inner_->read_all(); }
    Status close() override { return inner_->close(); }

   private:
    std::unique_ptr<Session> inner_;
  };
  SampleStore atomic_{SampleKind::atomic};
};

TEST(IoErrorSweep, AcknowledgingAFailedCommitIsCaught) {
  CarelessStore store;
  EXPECT_FALSE(sweep_io_errors(store, small_workload(2), {}).ok());
}

}  // namespace
}  // namespace varve::crash
