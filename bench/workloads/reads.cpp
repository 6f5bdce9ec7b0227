// reads: random reads of a world that lies in memory entirely. All arms read the
// same keys in the same order and hash every byte, whether they copy it or not.
#include "base/try.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "kv_contest.h"

namespace varve::bench {
namespace {

Result<std::vector<Measurement>> run_reads(const Context& context) {
  KvContest contest(context);
  const KvData& data = contest.data();
  contest.load();
  // Once through everything fills the caches and proves the values.
  contest.for_each([&](std::size_t arm_index) -> Status {
    for (std::size_t i = 0; i < data.count(); ++i) VARVE_TRY(data.check(contest.arm(arm_index), i));
    return {};
  });

  Random random(kSeed + 1);
  std::vector<std::size_t> wanted(context.quick ? 200 : 5'000);
  interleave(
      contest.series(), context.rounds(41),
      [&] {
        for (std::size_t& index : wanted) index = random.below(data.count());
      },
      [&](std::size_t arm_index) -> Result<double> {
        const Stopwatch watch;
        for (const std::size_t index : wanted) {
          VARVE_TRY(data.check(contest.arm(arm_index), index));
        }
        return static_cast<double>(wanted.size()) / watch.seconds();
      });
  contest.for_each([&](std::size_t arm_index) { return contest.arm(arm_index).close(); });
  return std::vector<Measurement>{{.title = "warm random reads, every byte hashed",
                                   .unit = "reads/s",
                                   .better = Better::bigger,
                                   .compared = true,
                                   .series = std::move(contest.series())}};
}

}  // namespace

void add_reads_workloads(Workloads& workloads) {
  workloads.push_back({.name = "reads",
                       .summary = "warm random reads of 10,000 chunks, as a rate",
                       .run = run_reads});
}

}  // namespace varve::bench
