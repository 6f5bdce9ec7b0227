// churn: what 20 rounds of overwriting 10 % leave on the disk and send there, with
// the store open all the while. Nothing is timed, and the bytes of an engine's own
// threads can only be told apart if it runs alone, so arms run one after another.
#include <algorithm>
#include <optional>

#include "base/try.h"
#include "harness/disk_usage.h"
#include "harness/workload.h"
#include "kv_contest.h"

namespace varve::bench {
namespace {

constexpr std::size_t kChurnRoundCount = 20;
// Compactions pause between two files; what is quiet for this long is over.
constexpr std::chrono::milliseconds kQuiet(300);
constexpr std::chrono::milliseconds kQuietQuick(10);

struct Churn {
  double size_at_end = 0;
  double size_at_peak = 0;
  std::optional<double> written_device;
  std::optional<double> written_process;
};

// What a counter that may be missing has moved, per byte saved.
std::optional<double> per_byte(std::optional<std::uint64_t> before,
                               std::optional<std::uint64_t> after, std::uint64_t saved_size) {
  if (!before || !after) return std::nullopt;
  return static_cast<double>(*after - *before) / static_cast<double>(saved_size);
}

Result<Churn> churn(KvContest& contest, std::size_t arm_index, KvData& data,
                    std::chrono::milliseconds quiet) {
  const std::string& dir = contest.dir(arm_index);
  wait_for_quiet_process(quiet);
  const auto device_before = device_written_size(dir);
  const auto process_before = process_written_size();
  std::uint64_t saved_size = 0;
  std::uint64_t peak_size = 0;
  for (std::size_t round = 0; round < kChurnRoundCount; ++round) {
    const std::vector<KvPair> dirty = data.overwrite(data.count() / 10);
    for (const KvPair& pair : dirty) saved_size += pair.key.size() + pair.value.size();
    VARVE_TRY(contest.arm(arm_index).put_batch(dirty));
    peak_size = std::max(peak_size, allocated_size(dir));
  }
  wait_for_quiet_process(quiet);
  const auto live_size = static_cast<double>(data.live_size());
  const Churn result{
      .size_at_end = static_cast<double>(allocated_size(dir)) / live_size,
      .size_at_peak = static_cast<double>(peak_size) / live_size,
      .written_device = per_byte(device_before, device_written_size(dir), saved_size),
      .written_process = per_byte(process_before, process_written_size(), saved_size)};
  for (std::size_t i = 0; i < data.count(); ++i) {
    VARVE_TRY(data.check(contest.arm(arm_index), i));
  }
  return result;
}

Result<std::vector<Measurement>> run_churn(const Context& context) {
  KvContest contest(context);
  const auto quiet = context.quick ? kQuietQuick : kQuiet;
  const std::vector<Series> blank = contest.series();
  Measurement at_end{"size on disk over live bytes, still open", "x", Better::smaller, false,
                     blank};
  Measurement at_peak{"largest size between rounds over live bytes", "x", Better::smaller, false,
                      blank};
  Measurement device{"bytes the device wrote per byte saved (whole machine)", "x", Better::smaller,
                     false, blank};
  Measurement process{"bytes the process dirtied per byte saved (counts whole folios)", "x",
                      Better::smaller, false, blank};

  contest.for_each([&](std::size_t arm_index) -> Status {
    VARVE_TRY(contest.load(arm_index));
    // A copy of the world for each, so that all arms overwrite the same with the same.
    KvData data(kSeed, contest.data().count());
    VARVE_ASSIGN(const Churn result, churn(contest, arm_index, data, quiet));
    at_end.series[arm_index].samples.push_back(result.size_at_end);
    at_peak.series[arm_index].samples.push_back(result.size_at_peak);
    if (result.written_device) device.series[arm_index].samples = {*result.written_device};
    if (result.written_process) process.series[arm_index].samples = {*result.written_process};
    return contest.arm(arm_index).close();
  });
  for (std::size_t i = 0; i < contest.arm_count(); ++i) {
    for (Measurement* const m : {&at_end, &at_peak, &device, &process}) {
      m->series[i].error = contest.series()[i].error;
    }
  }
  return std::vector<Measurement>{std::move(at_end), std::move(at_peak), std::move(device),
                                  std::move(process)};
}

}  // namespace

void add_churn_workloads(Workloads& workloads) {
  workloads.push_back({.name = "churn",
                       .summary = "size and bytes written after 20 rounds overwriting 10 %",
                       .run = run_churn});
}

}  // namespace varve::bench
