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

// Writes in place once something went wrong.
class PanickingStore final : public Subject {
 public:
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
    auto calm = calm_.open(vfs);
    auto panicking = panicking_.open(vfs);
    if (!calm) return calm;
    if (!panicking) return panicking;
    return std::make_unique<PanickingSession>(std::move(*calm), std::move(*panicking));
  }

 private:
  class PanickingSession final : public Session {
   public:
    PanickingSession(std::unique_ptr<Session> calm, std::unique_ptr<Session> panicking)
        : calm_(std::move(calm)), panicking_(std::move(panicking)) {}
    Status apply(const Step& step) override {
      Step whole = step;
      const auto records = calm_->read_all();
      for (const auto& [key, value] : *records) whole.changes.try_emplace(key, value);
      panicked_ = panicked_ || !calm_->apply(whole);
      return panicked_ ? panicking_->apply(whole) : Status();
    }
    Result<Records> read_all() override { return (panicked_ ? panicking_ : calm_)->read_all(); }
    Status close() override { return {}; }

   private:
    std::unique_ptr<Session> calm_;
    std::unique_ptr<Session> panicking_;
    bool panicked_ = false;
  };
  SampleStore calm_{SampleKind::atomic};
  SampleStore panicking_{SampleKind::in_place};
};

TEST(IoErrorSweep, AProtocolThatBreaksOnlyAfterAnErrorIsCaught) {
  PanickingStore store;
  EXPECT_TRUE(sweep_crashes(store, small_workload(3), {}).ok());
  EXPECT_FALSE(sweep_io_errors(store, small_workload(3), {}).ok());
}

// Makes its name durable when it creates its file, and never thinks of it again.
class ForgetfulStore final : public Subject {
 public:
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
    if (!vfs.open("made", OpenMode::write)) {
      const auto made = vfs.open("made", OpenMode::create);
      if (!made) return made.error();
      if (auto synced = vfs.sync_dir("."); !synced) return synced.error();
    }
    return std::make_unique<ForgetfulSession>(vfs);
  }

 private:
  class ForgetfulSession final : public Session {
   public:
    explicit ForgetfulSession(Vfs& vfs) : vfs_(vfs) {}
    Status apply(const Step&) override {
      auto file = vfs_.open("made", OpenMode::write);
      if (!file) return file.error();
      if (auto written = (*file)->write_at(0, as_byte_view("x")); !written) return written;
      return (*file)->sync_data();
    }
    Result<Records> read_all() override {
      const auto file = vfs_.open("made", OpenMode::read);
      if (!file) return file.error();
      const auto all = (*file)->read_all(10);
      if (!all) return all.error();
      return all->text() == "x" ? Records{{"key", *all}} : Records{};
    }
    Status close() override { return {}; }

   private:
    Vfs& vfs_;
  };
};

TEST(IoErrorSweep, ANameLostToAFailedFirstOpenIsCaught) {
  ForgetfulStore store;
  const Workload workload{{.changes = {{"key", Bytes::copy_of("x")}}}};
  EXPECT_TRUE(sweep_crashes(store, workload, {}).ok());
  EXPECT_FALSE(sweep_io_errors(store, workload, {}).ok());
}

TEST(IoErrorSweep, ANameLostToAKilledFirstOpenIsCaught) {
  ForgetfulStore store;
  const Workload workload{{.changes = {{"key", Bytes::copy_of("x")}}}};
  EXPECT_FALSE(sweep_killed_processes(store, workload, {}).ok());
}

TEST(IoErrorSweep, AtomicSampleHoldsWhateverIsKilled) {
  SampleStore store(SampleKind::atomic);
  const IoErrorResult result = sweep_killed_processes(store, small_workload(3), {});
  EXPECT_TRUE(result.ok()) << result.summary();
  EXPECT_GT(result.failed_run_count, 3u * 4);
}

// A sample of the states is a sample, and still sees what is right behind a failure.
TEST(IoErrorSweep, FewerStatesFindWhatFailuresBreak) {
  SampleStore atomic(SampleKind::atomic);
  const auto all = sweep_io_errors(atomic, small_workload(3), {});
  const auto some = sweep_io_errors(atomic, small_workload(3), {.state_every = 10});
  EXPECT_TRUE(some.ok()) << some.summary();
  EXPECT_EQ(some.run_count, all.run_count);
  EXPECT_LT(some.state_count, all.state_count / 2);
  EXPECT_GT(some.state_count, all.state_count / 20);
  CarelessStore careless;
  EXPECT_FALSE(sweep_io_errors(careless, small_workload(2), {.state_every = 10}).ok());
}

}  // namespace
}  // namespace varve::crash
