// open: from a closed save of 10,000 chunks to the first chunk read. Before each
// open, 10 % are saved and the store is closed, both untimed: a save that nobody
// changed would spare engines that replay a log the work they do in real life.
// Then the same behind a process that was killed while it saved.
#include "base/try.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "kv_child.h"
#include "kv_contest.h"

namespace varve::bench {
namespace {

// All arms are open, and are so afterwards.
std::vector<Series> measure_killed(const Context& context, KvContest& contest) {
  // Enough for every engine to be between two checkpoints of its own.
  const std::size_t batch_count = context.quick ? 5 : 150;
  Random random(kSeed + 5);
  std::size_t wanted = 0;
  std::vector<Series> series = contest.series();
  for (Series& each : series) each.samples.clear();
  interleave(
      series, context.rounds(7), [&] { wanted = random.below(contest.data().count()); },
      [&](std::size_t arm_index) -> Result<double> {
        KvArm& arm = contest.arm(arm_index);
        VARVE_TRY(arm.close());
        VARVE_TRY(write_and_kill(series[arm_index].arm, contest.dir(arm_index), batch_count));
        const Stopwatch watch;
        VARVE_TRY(arm.open(contest.dir(arm_index)));
        VARVE_TRY(contest.data().check(arm, wanted));
        return watch.milliseconds();
      });
  for (std::size_t i = 0; i < series.size(); ++i) contest.series()[i].error = series[i].error;
  return series;
}

Result<std::vector<Measurement>> run_open(const Context& context) {
  KvContest contest(context);
  contest.load();
  Random random(kSeed + 2);
  std::vector<KvPair> dirty;
  std::size_t wanted = 0;
  interleave(
      contest.series(), context.rounds(21),
      [&] {
        dirty = contest.data().overwrite(contest.data().count() / 10);
        wanted = random.below(contest.data().count());
      },
      [&](std::size_t arm_index) -> Result<double> {
        KvArm& arm = contest.arm(arm_index);
        VARVE_TRY(arm.put_batch(dirty));
        VARVE_TRY(arm.close());
        const Stopwatch watch;
        VARVE_TRY(arm.open(contest.dir(arm_index)));
        VARVE_TRY(contest.data().check(arm, wanted));
        return watch.milliseconds();
      });
  std::vector<Series> killed = measure_killed(context, contest);
  contest.verify_and_close();
  return std::vector<Measurement>{
      {.title = "open and first read, after 10 % were saved (goal: <= 1 ms)",
       .unit = "ms",
       .series = std::move(contest.series())},
      {.title = "the same, after kill -9 in the midst of saves of 5",
       .unit = "ms",
       .series = std::move(killed)}};
}

}  // namespace

void add_open_workloads(Workloads& workloads) {
  workloads.push_back({.name = "open",
                       .summary = "open a save of 10,000 chunks and read the first one",
                       .run = run_open});
}

}  // namespace varve::bench
