#include "crash/io_error_sweep.h"

#include <fmt/format.h>

#include "io/sim/sim_disk.h"

namespace varve::crash {
namespace {

// Runs as far as the fault lets it. A step that fails is tried once more, as a
// game would on its next autosave; then the run ends.
class FaultyRun {
 public:
  FaultyRun(Subject& subject, const Workload& workload, sim::SimDisk& disk)
      : subject_(subject), workload_(workload), disk_(disk) {}

  void run() {
    auto session = subject_.open(disk_);
    if (!session) {
      failed = true;
      return;
    }
    for (const Step& step : workload_) {
      const Records next = after(allowed.front(), step);
      bool done = false;
      for (int attempt = 0; attempt < 2 && !done; ++attempt) {
        done = *session != nullptr && apply(*session, step);
        failed = failed || !done;
      }
      if (!done) {
        allowed.push_back(next);  // In flight: wholly there or not at all.
        break;
      }
      allowed.front() = next;
    }
    if (*session != nullptr && !(*session)->close()) failed = true;
  }

  bool failed = false;
  // What a later look may find; the first is what was acknowledged.
  std::vector<Records> allowed{Records{}};

 private:
  bool apply(std::unique_ptr<Session>& session, const Step& step) {
    if (step.upkeep != "reopen") return session->apply(step).ok();
    const bool closed = session->close().ok();
    session.reset();
    auto reopened = subject_.open(disk_);
    if (!reopened) return false;
    session = std::move(*reopened);
    return closed;
  }

  Subject& subject_;
  const Workload& workload_;
  sim::SimDisk& disk_;
};

class IoErrorSweep {
 public:
  IoErrorSweep(Subject& subject, const Workload& workload, const SweepOptions& options)
      : subject_(subject), workload_(workload), options_(options) {}

  void run(ErrorCode code, bool from_then_on) {
    for (std::uint64_t n = 1; result.violations.size() < options_.violation_count_max; ++n) {
      sim::SimDisk disk({}, options_.seed + n);
      disk.set_fault(sim::Fault{n, code, from_then_on});
      FaultyRun faulty(subject_, workload_, disk);
      faulty.run();
      if (disk.op_count() < n) return;  // The fault was never reached: all are done.
      ++result.run_count;
      result.failed_run_count += faulty.failed ? 1 : 0;
      check(disk, faulty,
            fmt::format("seed {}, {} at operation {}{}", options_.seed, to_string(code), n,
                        from_then_on ? " and from then on" : ""));
    }
  }

  IoErrorResult result;

 private:
  void check(const sim::SimDisk& disk, const FaultyRun& faulty, const std::string& what) {
    std::vector<const Records*> allowed;
    for (const Records& records : faulty.allowed) allowed.push_back(&records);
    check_image(disk.image(), allowed, what + ", reopened");
    const sim::OpLog log = disk.log();
    sim::DiskReplay replay{sim::DiskImage()};
    for (const sim::DiskOp& op : log) replay.step(op);
    sim::for_each_crash(replay, options_.limits, options_.seed,
                        [&](const sim::CrashChoice& choice) {
                          check_image(replay.crash(choice), allowed,
                                      what + ", crash at the end, " + sim::describe(choice));
                          return result.violations.size() < options_.violation_count_max;
                        });
  }

  void check_image(const sim::DiskImage& image, const std::vector<const Records*>& allowed,
                   const std::string& what) {
    ++result.state_count;
    sim::SimDisk disk(image, options_.seed);
    disk.set_recording(false);
    if (const auto wrong = check_disk(subject_, disk, allowed)) {
      result.violations.push_back(what + ": " + *wrong);
    }
  }

  Subject& subject_;
  const Workload& workload_;
  const SweepOptions& options_;
};

}  // namespace

std::string IoErrorResult::summary() const {
  std::string text = fmt::format("{} runs with a fault, {} reported it, {} states, {} violations",
                                 run_count, failed_run_count, state_count, violations.size());
  for (const std::string& violation : violations) text += "\n  " + violation;
  return text;
}

IoErrorResult sweep_io_errors(Subject& subject, const Workload& workload,
                              const SweepOptions& options) {
  IoErrorSweep sweep(subject, workload, options);
  for (const ErrorCode code : {ErrorCode::io, ErrorCode::out_of_space}) {
    for (const bool from_then_on : {false, true}) sweep.run(code, from_then_on);
  }
  return std::move(sweep.result);
}

}  // namespace varve::crash
