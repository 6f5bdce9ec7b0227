#include "crash/crash_sweep.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "io/sim/sim_disk.h"

namespace varve::crash {
namespace {

class Sweep {
 public:
  Sweep(Subject& subject, const RecordedRun& run, const SweepOptions& options)
      : subject_(subject), run_(run), options_(options), random_(options.seed) {}

  // False if the log is infeasible.
  bool run() {
    sim::DiskReplay replay(run_.start);
    allowed_ = allowed_after(run_, std::nullopt);
    crash_here(replay, "before the first operation");
    for (std::size_t i = 0; i < run_.log.size() && !full(); ++i) {
      const sim::DiskOp& op = run_.log[i];
      if (!replay.step(op)) return false;
      if (op.kind == sim::OpKind::read) continue;  // Nothing changed since the last point.
      is_telling_ = op.failed || acknowledges(op);
      if (op.kind == sim::OpKind::mark) allowed_ = allowed_after(run_, op.value);
      op_index_ = i;
      crash_here(replay, sim::describe(op));
    }
    return true;
  }

  SweepResult result;

 private:
  bool full() const { return result.violations.size() >= options_.violation_count_max; }

  bool acknowledges(const sim::DiskOp& op) {
    if (op.kind != sim::OpKind::mark) return false;
    return from_mark(op.value).durable_count >
           std::exchange(durable_count_, from_mark(op.value).durable_count);
  }

  void crash_here(const sim::DiskReplay& replay, const std::string& point) {
    ++result.point_count;
    sim::for_each_crash(replay, options_.limits, options_.seed + op_index_,
                        [&](const sim::CrashChoice& choice) {
                          check(replay, choice, point);
                          return !full();
                        });
  }

  void check(const sim::DiskReplay& replay, const sim::CrashChoice& choice,
             const std::string& point) {
    if (options_.state_every > 1 && !is_telling_ && random_() % options_.state_every != 0) return;
    ++result.state_count;
    sim::DiskImage image = replay.crash(choice);
    std::optional<std::string> wrong;
    if (options_.recovery_every != 0 && result.state_count % options_.recovery_every == 0) {
      wrong = sweep_recovery(image);
    } else {
      sim::SimDisk disk(std::move(image), options_.seed);
      disk.set_recording(false);
      wrong = check_disk(subject_, disk, allowed_);
    }
    if (!wrong) return;
    result.violations.push_back(fmt::format("seed {}, crash after operation {} ({}), {}: {}",
                                            options_.seed, op_index_, point, sim::describe(choice),
                                            *wrong));
  }

  // Recovers the crashed disk on the record, with one commit after it, and crashes
  // that run at every point in turn.
  std::optional<std::string> sweep_recovery(const sim::DiskImage& image) {
    std::vector<Records> before_open;
    for (const Records* records : allowed_) before_open.push_back(*records);
    const Workload one_more{subject_.one_more()};
    const auto recovery =
        record_run(subject_, one_more, image, std::move(before_open), options_.seed);
    if (!recovery) return "recovery failed: " + recovery.error().message();
    SweepOptions nested = options_;
    nested.limits = options_.recovery_limits;
    nested.recovery_every = 0;
    nested.state_every = 1;
    nested.violation_count_max = 1;
    const SweepResult swept = sweep_run(subject_, *recovery, nested);
    result.recovery_state_count += swept.state_count;
    if (swept.ok()) return std::nullopt;
    return "crashed again during recovery or the commit after it: " + swept.violations.front();
  }

  Subject& subject_;
  const RecordedRun& run_;
  const SweepOptions& options_;
  std::vector<const Records*> allowed_;
  std::size_t op_index_ = 0;
  std::uint32_t durable_count_ = 0;
  bool is_telling_ = false;  // what was done last before the crash
  std::mt19937_64 random_;
};

}  // namespace

std::string SweepResult::summary() const {
  std::string text = fmt::format("{} crash points, {} states, {} states of recovery, {} violations",
                                 point_count, state_count, recovery_state_count, violations.size());
  for (const std::string& violation : violations) text += "\n  " + violation;
  return text;
}

SweepResult sweep_crashes(Subject& subject, const Workload& workload, const SweepOptions& options) {
  const auto run = record_run(subject, workload, {}, {Records{}}, options.seed);
  if (run) return sweep_run(subject, *run, options);
  SweepResult failed;
  failed.violations.push_back("the workload fails without any crash: " + run.error().message());
  return failed;
}

SweepResult sweep_run(Subject& subject, const RecordedRun& run, const SweepOptions& options,
                      bool* feasible) {
  Sweep sweep(subject, run, options);
  const bool complete = sweep.run();
  if (feasible != nullptr) {
    *feasible = complete;
  } else if (!complete) {
    sweep.result.violations.push_back("the recorded log does not replay: the disk model is wrong");
  }
  return std::move(sweep.result);
}

}  // namespace varve::crash
