#include "crash/mutants.h"

#include <gtest/gtest.h>

#include "crash/sample_stores.h"

namespace varve::crash {
namespace {

TEST(Mutants, EveryMutantOfTheAtomicSampleIsCaught) {
  SampleStore store(SampleKind::atomic);
  const MutantResult result = sweep_mutants(store, small_workload(3), {});
  EXPECT_TRUE(result.survivors.empty()) << result.summary();
  // Per commit: two syncs dropped; write and sync, sync and rename, rename and
  // sync, sync and acknowledgement swapped; the two steps swapped.
  EXPECT_EQ(result.mutant_count, 3u * 7);
  EXPECT_GE(result.caught_count, 3u * 6) << result.summary();
}

TEST(Mutants, ASyncThatDoesNothingSurvivesAndIsNamed) {
  // The in-place sample syncs the directory at each commit, though only the first
  // creates a name.
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
  for (const Mutant& mutant : make_mutants(run->log)) {
    dropped += mutant.description.starts_with("dropped") ? 1 : 0;
  }
  EXPECT_EQ(dropped, 4u * 2);
}

}  // namespace
}  // namespace varve::crash
