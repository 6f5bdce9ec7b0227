#include "crash/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "io/sim/sim_disk.h"

namespace varve::crash {

Result<RecordedRun> record_run(Subject& subject, const Workload& workload,
                               const sim::DiskImage& start, std::vector<Records> before_open,
                               std::uint64_t seed) {
  sim::SimDisk disk(start, seed);
  RecordedRun run{.start = start, .log = {}, .before_open = std::move(before_open), .states = {}};
  VARVE_ASSIGN(auto session, subject.open(disk));
  disk.mark(to_mark({}));
  VARVE_ASSIGN(Records opened, session->read_all());
  if (std::find(run.before_open.begin(), run.before_open.end(), opened) == run.before_open.end()) {
    return corruption(
        fmt::format("opening shows {} records that match none expected", opened.size()));
  }
  run.states.push_back(std::move(opened));
  std::uint32_t durable_count = 0;
  for (std::uint32_t k = 0; k < workload.size(); ++k) {
    run.states.push_back(after(run.states.back(), workload[k]));
    disk.mark(to_mark({durable_count, k + 1}));
    if (workload[k].upkeep == "reopen") {
      VARVE_TRY(session->close());
      session.reset();
      VARVE_ASSIGN(session, subject.open(disk));
    } else {
      VARVE_TRY(session->apply(workload[k]));
    }
    durable_count = k + 1 - static_cast<std::uint32_t>(session->unsynced_count());
    disk.mark(to_mark({durable_count, k + 1}));
    VARVE_ASSIGN(const Records shown, session->read_all());
    if (const auto wrong = difference(run.states.back(), shown)) {
      return corruption(fmt::format("after step {} the session is wrong: {}", k, *wrong));
    }
  }
  VARVE_TRY(session->close());
  const auto step_count = static_cast<std::uint32_t>(workload.size());
  disk.mark(to_mark({step_count, step_count}));
  run.log = disk.log();
  return run;
}

std::vector<const Records*> allowed_after(const RecordedRun& run,
                                          std::optional<std::uint64_t> mark) {
  std::vector<const Records*> allowed;
  if (!mark) {
    for (const Records& records : run.before_open) allowed.push_back(&records);
    return allowed;
  }
  const Progress progress = from_mark(*mark);
  for (std::size_t k = progress.durable_count; k <= progress.begun_count; ++k) {
    allowed.push_back(&run.states[k]);
  }
  return allowed;
}

std::optional<std::string> check_disk(Subject& subject, Vfs& vfs,
                                      const std::vector<const Records*>& allowed) {
  auto session = subject.open(vfs);
  if (!session) return "it does not open: " + session.error().message();
  const auto found = (*session)->read_all();
  if (!found) return "it cannot be read: " + found.error().message();
  std::string differences;
  for (const Records* records : allowed) {
    const auto different = difference(*records, *found);
    if (!different) return std::nullopt;
    differences +=
        differences.empty() ? "against what was acknowledged, " : "; against what was in flight, ";
    differences += *different;
  }
  return differences;
}

}  // namespace varve::crash
