#include "crash/mutants.h"

#include <gtest/gtest.h>

#include "crash/sample_stores.h"

namespace varve::crash {
namespace {

TEST(Mutants, EveryMutantOfTheAtomicSampleIsCaught) {
  SampleStore store(SampleKind::atomic);
  const MutantResult result = sweep_mutants(store, small_workload(3), {});
  EXPECT_TRUE(result.survivors.empty()) << result.summary();
  // Per commit: two syncs dropped; the rename before the file's sync; the write and
  // the rename behind theirs; the acknowledgement before either; the steps swapped.
  EXPECT_EQ(result.caught_count, 3u * 8) << result.summary();
  // The creation cannot come behind the write to what it creates.
  EXPECT_EQ(result.infeasible.size(), 3u) << result.summary();
}

TEST(Mutants, SyncsOfARecoveryAreMutatedToo) {
  // Rewrites its file atomically whenever it opens.
  class Rewriting final : public Subject {
   public:
    Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
      auto session = atomic_.open(vfs);
      if (!session) return session;
      if (Status rewritten = (*session)->apply({}); !rewritten) return rewritten.error();
      return session;
    }

   private:
    SampleStore atomic_{SampleKind::atomic};
  } store;
  const auto first = record_run(store, small_workload(1), {}, {Records{}}, 1);
  ASSERT_TRUE(first);
  sim::DiskImage image;
  for (const sim::DiskOp& op : first->log) ASSERT_TRUE(sim::apply_op(image, op));
  auto recovery = record_run(store, {}, image, {first->states.back()}, 1);
  ASSERT_TRUE(recovery);
  const MutantResult result = sweep_mutants(store, std::move(*recovery), {});
  EXPECT_GT(result.caught_count, 0u) << result.summary();
}

TEST(Mutants, ASyncThatDoesNothingSurvivesAndIsNamed) {
  // Syncs a directory nothing was changed in.
  class NeedlessSync final : public Subject {
   public:
    Result<std::unique_ptr<Session>> open(Vfs& vfs) override {
      if (auto synced = vfs.sync_dir("."); !synced) return synced.error();
      return atomic_.open(vfs);
    }

   private:
    SampleStore atomic_{SampleKind::atomic};
  } store;
  const MutantResult result = sweep_mutants(store, small_workload(1), {});
  ASSERT_FALSE(result.survivors.empty());
  EXPECT_EQ(result.survivors.front(), "dropped operation 0: sync directory node 0");
}

TEST(Mutants, AreMadeFromEverySyncInTheLog) {
  SampleStore store(SampleKind::atomic);
  const auto run = record_run(store, small_workload(4), {}, {Records{}}, 1);
  ASSERT_TRUE(run);
  std::size_t dropped = 0;
  for_each_mutant(run->log, [&](const Mutant& mutant) {
    dropped += mutant.description.starts_with("dropped") ? 1 : 0;
  });
  EXPECT_EQ(dropped, 4u * 2);
}

}  // namespace
}  // namespace varve::crash
