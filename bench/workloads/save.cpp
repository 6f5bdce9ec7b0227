// save5 and save1000: how long a durable save of a few, or of many, of 10,000
// chunks takes. Every arm saves the same chunks in the same round.
#include <fmt/format.h>

#include "base/try.h"
#include "harness/device_settler.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "kv_contest.h"

namespace varve::bench {
namespace {

using namespace std::chrono_literals;

Result<std::vector<Measurement>> run_save(const Context& context, std::size_t dirty_count,
                                          std::size_t round_count,
                                          std::chrono::milliseconds quiet) {
  VARVE_ASSIGN(DeviceSettler settler, DeviceSettler::create(context.dir));
  KvContest contest(context);
  contest.load();
  std::vector<KvPair> dirty;
  interleave(
      contest.series(), context.rounds(round_count),
      [&] { dirty = contest.data().overwrite(dirty_count); },
      [&](std::size_t arm_index) -> Result<double> {
        VARVE_TRY(settler.settle(quiet, 1'000'000 + 4 * dirty_count * KvData::kValueSizeMax));
        const Stopwatch watch;
        VARVE_TRY(contest.arm(arm_index).put_batch(dirty));
        return watch.milliseconds();
      });
  contest.verify_and_close();
  return std::vector<Measurement>{
      {.title = fmt::format("durable save of {} of {} chunks", dirty_count, contest.data().count()),
       .unit = "ms",
       .better = Better::smaller,
       .compared = true,
       .series = std::move(contest.series())}};
}

}  // namespace

void add_save_workloads(Workloads& workloads) {
  workloads.push_back(
      {.name = "save5",
       .summary = "durable save of 5 of 10,000 chunks",
       .run = [](const Context& context) { return run_save(context, 5, 300, 2ms); }});
  workloads.push_back({.name = "save1000",
                       .summary = "durable save of 1,000 of 10,000 chunks",
                       .run = [](const Context& context) {
                         return context.quick ? run_save(context, 20, 3, 2ms)
                                              : run_save(context, 1'000, 36, 50ms);
                       }});
}

}  // namespace varve::bench
