// million: whether what is promised for 10,000 chunks holds for a hundred times as many:
// saving a few of them, opening the store after it was closed and after its process was
// killed, and what finding them costs in memory. Raw and the file backend alone, since
// most peers would take an hour to load.
#include <fmt/format.h>

#include <filesystem>

#include "base/try.h"
#include "harness/device_settler.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "kv_child.h"
#include "kv_contest.h"
#include "varve/backend.h"

namespace varve::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRecordCount = 1'000'000;
constexpr std::size_t kRecordCountQuick = 2'000;
constexpr std::size_t kDirtyCount = 5;
// Two copies of some 8 GB, and what reclaiming space takes meanwhile.
constexpr std::uint64_t kNeededSize = std::uint64_t{20} << 30;

struct Contender {
  std::unique_ptr<KvArm> arm;
  std::string dir;
};

Result<Measurement> measure_saves(const Context& context, KvData& data,
                                  std::vector<Contender>& contenders) {
  VARVE_ASSIGN(DeviceSettler settler, DeviceSettler::create(context.dir));
  std::vector<Series> series = {{kRawArm, {}, {}}, {"varve", {}, {}}};
  std::vector<KvPair> dirty;
  interleave(
      series, context.rounds(200), [&] { dirty = data.overwrite(kDirtyCount); },
      [&](std::size_t index) -> Result<double> {
        VARVE_TRY(settler.settle(2ms, 1'000'000 + 4 * kDirtyCount * KvData::kValueSizeMax));
        const Stopwatch watch;
        VARVE_TRY(contenders[index].arm->put_batch(dirty));
        return watch.milliseconds();
      });
  return Measurement{
      .title = fmt::format("durable save of {} of {} chunks (goal: <= 1.0 of raw, mean <= 1.2 p50)",
                           kDirtyCount, data.count()),
      .unit = "ms",
      .series = std::move(series)};
}

// Before each open `prepare` leaves the store closed, or without its process.
Series measure_opens(std::string name, Rounds rounds, KvData& data, Contender& store,
                     const std::function<Status()>& prepare) {
  Random random(kSeed + 4);
  std::vector<Series> series = {{.arm = std::move(name), .samples = {}, .error = {}}};
  interleave(
      series, rounds, [] {},
      [&](std::size_t) -> Result<double> {
        const std::size_t wanted = random.below(data.count());
        VARVE_TRY(prepare());
        const Stopwatch watch;
        VARVE_TRY(store.arm->open(store.dir));
        VARVE_TRY(data.check(*store.arm, wanted));
        const double milliseconds = watch.milliseconds();
        VARVE_TRY(store.arm->close());
        return milliseconds;
      });
  return std::move(series.front());
}

// The store is closed, before and after.
Measurement measure_all_opens(const Context& context, KvData& data, Contender& store) {
  const Rounds rounds = {.warm_up_count = 1, .count = context.quick ? 1u : 11u};
  const Rounds fewer = {.warm_up_count = 0, .count = context.quick ? 1u : 4u};
  const auto save_and_close = [&]() -> Status {
    VARVE_TRY(store.arm->open(store.dir));
    for (int i = 0; i < 10; ++i) VARVE_TRY(store.arm->put_batch(data.overwrite(kDirtyCount)));
    return store.arm->close();
  };
  const auto killed_after = [&](std::size_t batch_count) {
    return [&, batch_count] { return write_and_kill("varve", store.dir, batch_count); };
  };
  const std::size_t few = context.quick ? 5 : 500;
  // Not far from where the next checkpoint would be due: the most that has to be read again.
  const std::size_t many = context.quick ? 20 : 3'000;
  Measurement opens{
      .title = fmt::format("open {} chunks and read one (goal: <= 50 ms)", data.count()),
      .unit = "ms",
      .compared = false,
      .series = {}};
  opens.series.push_back(measure_opens("closed", rounds, data, store, save_and_close));
  opens.series.push_back(measure_opens(fmt::format("killed after {} saves", few), rounds, data,
                                       store, killed_after(few)));
  opens.series.push_back(measure_opens(fmt::format("killed after {} saves", many), fewer, data,
                                       store, killed_after(many)));
  return opens;
}

Result<Measurement> measure_index(const std::string& dir) {
  VARVE_ASSIGN(const auto backend, open_file_backend(dir));
  const auto size_per_entry = [&] {
    const BackendStats stats = backend->stats();
    return static_cast<double>(stats.index_size) / static_cast<double>(stats.entry_count);
  };
  const double opened = size_per_entry();
  // The first range makes what gives keys their order.
  VARVE_TRY(backend->range({.count_max = 1}));
  const double ordered = size_per_entry();
  VARVE_TRY(backend->close());
  return Measurement{.title = "memory of the index per entry",
                     .unit = "bytes",
                     .compared = false,
                     .series = {{"opened", {opened}, {}}, {"and ordered", {ordered}, {}}}};
}

Result<std::vector<Measurement>> run_million(const Context& context) {
  std::error_code failure;
  const auto space = std::filesystem::space(context.dir, failure);
  if (!context.quick && (failure || space.available < kNeededSize)) {
    return std::vector<Measurement>{
        {.title = "nothing",
         .unit = "",
         .compared = false,
         .series = {},
         .note = fmt::format("Skipped: it needs 20 GiB of free space, and {} has {} GiB.\n",
                             context.dir, failure ? 0 : space.available >> 30)}};
  }
  KvData data(kSeed, context.quick ? kRecordCountQuick : kRecordCount);
  std::vector<Contender> contenders;
  for (const KvArmKind& kind : {raw_arm_kind(), varve_file_arm_kind()}) {
    contenders.push_back({kind.make(), path_join(context.dir, kind.name)});
    VARVE_TRY(load_arm(*contenders.back().arm, contenders.back().dir, data));
  }
  std::vector<Measurement> measured;
  VARVE_ASSIGN(Measurement saves, measure_saves(context, data, contenders));
  measured.push_back(std::move(saves));
  for (const Contender& each : contenders) VARVE_TRY(each.arm->close());
  measured.push_back(measure_all_opens(context, data, contenders[1]));
  VARVE_ASSIGN(Measurement index, measure_index(contenders[1].dir));
  measured.push_back(std::move(index));
  return measured;
}

}  // namespace

void add_million_workloads(Workloads& workloads) {
  workloads.push_back({.name = "million",
                       .summary = "save 5 of 1,000,000 chunks, open them, after a kill too",
                       .run = run_million});
}

}  // namespace varve::bench
