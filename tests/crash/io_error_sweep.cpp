#include "crash/io_error_sweep.h"

#include <fmt/format.h>

#include "io/sim/sim_disk.h"

namespace varve::crash {
namespace {

// Whether the fault ends with the process it hit.
enum class FaultEnd : std::uint8_t { never, with_the_process };

// Runs as far as the fault lets it, on the record. A step that fails is tried once
// more, as a game would on its next autosave, and then once in a new session, as
// after a restart of the game; then the run ends. A fault that ends with the process
// is the death of the process: there is no next autosave.
class FaultyRun {
 public:
  FaultyRun(Subject& subject, const Workload& workload, const Start& start, sim::SimDisk& disk,
            FaultEnd fault_end = FaultEnd::never)
      : subject_(subject), workload_(workload), disk_(disk), fault_end_(fault_end) {
    run.start = start.image;
    run.before_open = {start.records};
    run.states = {start.records};
  }

  void go() {
    // A game whose world does not open is started once more.
    if (reopen() || reopen()) {
      disk_.mark(to_mark({}));
      for (const Step& step : workload_) {
        is_complete = try_step(step);
        if (!is_complete) break;
      }
      if (session_ != nullptr && !session_->close()) failed = true;
      session_.reset();
    }
    run.log = disk_.log();
  }

  bool failed = false;
  bool is_complete = false;  // every step was acknowledged
  RecordedRun run;

 private:
  bool reopen() {
    session_.reset();
    auto opened = subject_.open(disk_);
    failed = failed || !opened;
    if (!opened && fault_end_ == FaultEnd::with_the_process) disk_.set_fault(std::nullopt);
    if (opened) session_ = std::move(*opened);
    return opened.ok();
  }

  bool try_step(const Step& step) {
    run.states.push_back(after(run.states.back(), step));
    const auto begun_count = static_cast<std::uint32_t>(run.states.size() - 1);
    disk_.mark(to_mark({durable_count_, begun_count}));
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (attempt == 1 && fault_end_ == FaultEnd::with_the_process) {
        session_.reset();
        disk_.set_fault(std::nullopt);
        continue;
      }
      if (attempt == 2 && !reopen()) return false;
      if (session_ == nullptr || !apply(step)) {
        failed = true;
        continue;
      }
      durable_count_ = begun_count - static_cast<std::uint32_t>(session_->unsynced_count());
      disk_.mark(to_mark({durable_count_, begun_count}));
      return true;
    }
    return false;
  }

  bool apply(const Step& step) {
    if (step.upkeep != "reopen") return session_->apply(step).ok();
    const bool closed = session_->close().ok();
    return reopen() && closed;
  }

  Subject& subject_;
  const Workload& workload_;
  sim::SimDisk& disk_;
  const FaultEnd fault_end_;
  std::unique_ptr<Session> session_;
  std::uint32_t durable_count_ = 0;
};

class IoErrorSweep {
 public:
  IoErrorSweep(Subject& subject, const Workload& workload, const SweepOptions& options,
               const Start& start)
      : subject_(subject), workload_(workload), options_(options), start_(start) {}

  void run(ErrorCode code, bool from_then_on, sim::Effect effect) {
    for (std::uint64_t n = 1; result.violations.size() < options_.violation_count_max; ++n) {
      sim::SimDisk disk(start_.image, options_.seed + n);
      disk.set_fault(sim::Fault{n, code, from_then_on, effect});
      FaultyRun faulty(subject_, workload_, start_, disk);
      faulty.go();
      if (disk.op_count() < n) return;  // The fault was never reached: all are done.
      check(
          faulty, disk.image(),
          fmt::format("seed {}, {} at operation {}{}, effect {}: ", options_.seed, to_string(code),
                      n, from_then_on ? " and from then on" : "", static_cast<int>(effect)));
    }
  }

  void run_killed_processes() {
    for (std::uint64_t n = 1; result.violations.size() < options_.violation_count_max; ++n) {
      sim::SimDisk disk(start_.image, options_.seed + n);
      disk.set_fault(sim::Fault{n, ErrorCode::io, true, sim::Effect::none});
      FaultyRun faulty(subject_, workload_, start_, disk, FaultEnd::with_the_process);
      faulty.go();
      if (disk.op_count() < n) return;
      // What a dead process did not do is no failure either: a sync that failed would lose what it
      // was for, one that was never made leaves it to the next.
      std::erase_if(faulty.run.log, [](const sim::DiskOp& op) { return op.failed; });
      const std::string what =
          fmt::format("seed {}, killed before operation {}: ", options_.seed, n);
      if (!faulty.is_complete) result.violations.push_back(what + "the next process fails too");
      check(faulty, disk.image(), what);
    }
  }

  void run_full_disks(std::uint64_t size_step) {
    std::uint64_t capacity = start_.image.used_size_without(std::nullopt);
    for (; result.violations.size() < options_.violation_count_max; capacity += size_step) {
      sim::SimDisk disk(start_.image, options_.seed);
      disk.set_capacity(capacity);
      FaultyRun faulty(subject_, workload_, start_, disk);
      faulty.go();
      if (!faulty.failed) return;
      check(faulty, disk.image(), fmt::format("a disk of {} bytes: ", capacity));
    }
  }

  IoErrorResult result;

 private:
  void check(const FaultyRun& faulty, const sim::DiskImage& image, const std::string& what) {
    ++result.run_count;
    result.failed_run_count += faulty.failed ? 1 : 0;
    if (const auto wrong = check_reopened(image, faulty.run)) {
      result.violations.push_back(what + "reopened, " + *wrong);
    }
    SweepOptions of_run = options_;
    // Else all of the runs would be looked at in the same places.
    if (of_run.state_every > 1) of_run.seed += result.run_count;
    const SweepResult swept = sweep_run(subject_, faulty.run, of_run);
    result.state_count += swept.state_count;
    for (const std::string& violation : swept.violations) {
      result.violations.push_back(what + violation);
    }
  }

  // The disk is well again and nothing was lost: the store must open with what was
  // acknowledged or begun, take a commit, and show it when opened once more.
  std::optional<std::string> check_reopened(const sim::DiskImage& image, const RecordedRun& run) {
    std::vector<Records> allowed;
    const Progress progress = last_progress(run.log);
    for (std::size_t k = progress.durable_count; k <= progress.begun_count; ++k) {
      allowed.push_back(run.states[k]);
    }
    const Workload one_more{subject_.one_more(), {.changes = {}, .upkeep = "reopen"}};
    const auto again = record_run(subject_, one_more, image, std::move(allowed), options_.seed);
    if (!again) return again.error().message();
    return std::nullopt;
  }

  static Progress last_progress(const sim::OpLog& log) {
    for (auto op = log.rbegin(); op != log.rend(); ++op) {
      if (op->kind == sim::OpKind::mark) return from_mark(op->value);
    }
    return {};
  }

  Subject& subject_;
  const Workload& workload_;
  const SweepOptions& options_;
  const Start& start_;
};

}  // namespace

std::string IoErrorResult::summary() const {
  std::string text = fmt::format("{} runs with a fault, {} reported it, {} states, {} violations",
                                 run_count, failed_run_count, state_count, violations.size());
  for (const std::string& violation : violations) text += "\n  " + violation;
  return text;
}

IoErrorResult sweep_io_errors(Subject& subject, const Workload& workload,
                              const SweepOptions& options, const Start& start) {
  IoErrorSweep sweep(subject, workload, options, start);
  for (const ErrorCode code : {ErrorCode::io, ErrorCode::out_of_space}) {
    for (const bool from_then_on : {false, true}) {
      for (const auto effect : {sim::Effect::none, sim::Effect::part, sim::Effect::all}) {
        sweep.run(code, from_then_on, effect);
      }
    }
  }
  return std::move(sweep.result);
}

IoErrorResult sweep_full_disks(Subject& subject, const Workload& workload,
                               const SweepOptions& options, std::uint64_t size_step,
                               const Start& start) {
  IoErrorSweep sweep(subject, workload, options, start);
  sweep.run_full_disks(size_step);
  return std::move(sweep.result);
}

IoErrorResult sweep_killed_processes(Subject& subject, const Workload& workload,
                                     const SweepOptions& options, const Start& start) {
  IoErrorSweep sweep(subject, workload, options, start);
  sweep.run_killed_processes();
  return std::move(sweep.result);
}

}  // namespace varve::crash
