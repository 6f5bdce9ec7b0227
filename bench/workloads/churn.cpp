// churn: what 20 rounds of overwriting 10 % leave on the disk and send there, with
// the store open all the while. Nothing is timed, and the bytes of an engine's own
// threads can only be told apart if it runs alone, so arms run one after another.
// The file backend does it once more with a reader in another process, which holds
// what was there at some moment for two rounds of every five.
#include <algorithm>
#include <functional>
#include <optional>

#include "base/try.h"
#include "harness/disk_usage.h"
#include "harness/workload.h"
#include "io/path.h"
#include "kv_child.h"
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

// What else happens in a round, numbered from 1.
using RoundHook = std::function<Status(std::size_t round)>;

Status nothing(std::size_t) { return {}; }

Result<Churn> churn(KvArm& arm, const std::string& dir, KvData& data,
                    std::chrono::milliseconds quiet, const RoundHook& before = nothing,
                    const RoundHook& after = nothing) {
  wait_for_quiet_process(quiet);
  const auto device_before = device_written_size(dir);
  const auto process_before = process_written_size();
  std::uint64_t saved_size = 0;
  std::uint64_t peak_size = 0;
  for (std::size_t round = 1; round <= kChurnRoundCount; ++round) {
    VARVE_TRY(before(round));
    const std::vector<KvPair> dirty = data.overwrite(data.count() / 10);
    for (const KvPair& pair : dirty) saved_size += pair.key.size() + pair.value.size();
    VARVE_TRY(arm.put_batch(dirty));
    peak_size = std::max(peak_size, allocated_size(dir));
    VARVE_TRY(after(round));
  }
  wait_for_quiet_process(quiet);
  const auto live_size = static_cast<double>(data.live_size());
  const Churn result{
      .size_at_end = static_cast<double>(allocated_size(dir)) / live_size,
      .size_at_peak = static_cast<double>(peak_size) / live_size,
      .written_device = per_byte(device_before, device_written_size(dir), saved_size),
      .written_process = per_byte(process_before, process_written_size(), saved_size)};
  for (std::size_t i = 0; i < data.count(); ++i) {
    VARVE_TRY(data.check(arm, i));
  }
  return result;
}

Result<Churn> churn_beside_reader(const std::string& dir, KvData& data,
                                  std::chrono::milliseconds quiet) {
  const std::unique_ptr<KvArm> arm = varve_file_arm_kind().make();
  VARVE_TRY(load_arm(*arm, dir, data));
  VARVE_ASSIGN(ForeignReader reader, ForeignReader::start(dir));
  // Rounds 4 and 5, 9 and 10, 14 and 15.
  const auto pin = [&](std::size_t round) -> Status {
    if (round > 15 || round % 5 != 4) return {};
    return reader.pin();
  };
  const auto release = [&](std::size_t round) -> Status {
    if (round > 15 || round % 5 != 0) return {};
    return reader.release();
  };
  VARVE_ASSIGN(const Churn result, churn(*arm, dir, data, quiet, pin, release));
  VARVE_TRY(arm->close());
  return result;
}

Result<std::vector<Measurement>> run_churn(const Context& context) {
  KvContest contest(context);
  const auto quiet = context.quick ? kQuietQuick : kQuiet;
  const Series beside_reader{.arm = "varve, reader", .samples = {}, .error = {}};
  std::vector<Series> blank = contest.series();
  blank.push_back(beside_reader);
  Measurement at_end{"size on disk over live bytes, still open", "x", Better::smaller, false,
                     blank};
  Measurement at_peak{"largest size between rounds over live bytes", "x", Better::smaller, false,
                      blank};
  Measurement device{"bytes the device wrote per byte saved (whole machine)", "x", Better::smaller,
                     false, blank};
  Measurement process{"bytes the process dirtied per byte saved (counts whole folios)", "x",
                      Better::smaller, false, blank};

  const auto keep = [&](const Churn& result, std::size_t index) {
    at_end.series[index].samples.push_back(result.size_at_end);
    at_peak.series[index].samples.push_back(result.size_at_peak);
    if (result.written_device) device.series[index].samples = {*result.written_device};
    if (result.written_process) process.series[index].samples = {*result.written_process};
  };
  contest.for_each([&](std::size_t arm_index) -> Status {
    VARVE_TRY(contest.load(arm_index));
    // A copy of the world for each, so that all arms overwrite the same with the same.
    KvData data(kSeed, contest.data().count());
    VARVE_ASSIGN(const Churn result,
                 churn(contest.arm(arm_index), contest.dir(arm_index), data, quiet));
    keep(result, arm_index);
    return contest.arm(arm_index).close();
  });
  std::vector<Series> ended = contest.series();
  ended.push_back(beside_reader);
  KvData data(kSeed, contest.data().count());
  const auto result = churn_beside_reader(path_join(context.dir, "varve-reader"), data, quiet);
  if (result) {
    keep(*result, ended.size() - 1);
  } else {
    ended.back().error = result.error().message();
  }
  for (std::size_t i = 0; i < ended.size(); ++i) {
    for (Measurement* const m : {&at_end, &at_peak, &device, &process}) {
      m->series[i].error = ended[i].error;
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
