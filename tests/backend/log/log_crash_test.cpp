// The log under the crash driver: every point, every subset of what was pending, recoveries crashed
// again.
#include <gtest/gtest.h>

#include "backend/log/log_subject.h"
#include "backend/log/small_log.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "crash/mutants.h"

namespace varve::test {
namespace {

using crash::SweepOptions;

TEST(LogCrash, AFewBatchesHold) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    LogSubject log(small_log_options());
    const auto result =
        crash::sweep_crashes(log, log_workload(5, seed), {.seed = seed, .recovery_every = 17});
    EXPECT_TRUE(result.ok()) << result.summary();
    EXPECT_GT(result.recovery_state_count, 100u);
    std::printf("seed %d: %s\n", int(seed), result.summary().c_str());
  }
}

}  // namespace
}  // namespace varve::test
