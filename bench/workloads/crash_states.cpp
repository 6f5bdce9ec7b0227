// crash_states: how many crashed disks a second the driver recovers and compares,
// on one core, for the atomic sample store and five small commits. Raw makes the
// same disks and does not look at them.
#include "base/try.h"
#include "crash/crash_sweep.h"
#include "crash/sample_stores.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"

namespace varve::bench {
namespace {

constexpr std::size_t kCommitCount = 5;

// Makes every disk of one pass; returns how many there were.
std::uint64_t make_disks(const crash::RecordedRun& run, std::uint64_t seed) {
  std::uint64_t count = 0;
  sim::DiskReplay replay(run.start);
  for (const sim::DiskOp& op : run.log) {
    replay.step(op);
    if (op.kind == sim::OpKind::read) continue;
    sim::for_each_crash(replay, {}, seed, [&](const sim::CrashChoice& choice) {
      count += replay.crash(choice).next_id() != 0 ? 1 : 0;
      return true;
    });
  }
  return count;
}

Result<double> states_per_second(bool compare, std::uint64_t pass_count) {
  crash::SampleStore store(crash::SampleKind::atomic);
  const crash::Workload commits = crash::small_workload(kCommitCount);
  std::uint64_t state_count = 0;
  const Stopwatch watch;
  for (std::uint64_t seed = kSeed; seed < kSeed + pass_count; ++seed) {
    if (compare) {
      const crash::SweepResult swept = crash::sweep_crashes(store, commits, {.seed = seed});
      if (!swept.ok()) return corruption(swept.summary());
      state_count += swept.state_count;
    } else {
      VARVE_ASSIGN(const auto run, crash::record_run(store, commits, {}, {{}}, seed));
      state_count += make_disks(run, seed);
    }
  }
  return static_cast<double>(state_count) / watch.seconds();
}

Result<std::vector<Measurement>> run_crash_states(const Context& context) {
  Measurement measurement{.title = "crash states, sample store, 5 commits (goal 50000)",
                          .unit = "states/s",
                          .better = Better::bigger,
                          .compared = true,
                          .series = {{kRawArm, {}, {}}, {"sweep", {}, {}}}};
  interleave(
      measurement.series, context.rounds(21), [] {},
      [&](std::size_t arm_index) {
        return states_per_second(arm_index == 1, context.quick ? 10 : 200);
      });
  return std::vector{std::move(measurement)};
}

}  // namespace

void add_crash_states_workloads(Workloads& workloads) {
  workloads.push_back({.name = "crash_states",
                       .summary = "crashed disks recovered and compared a second",
                       .run = run_crash_states});
}

}  // namespace varve::bench
