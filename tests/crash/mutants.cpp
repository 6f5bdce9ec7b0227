#include "crash/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace varve::crash {
namespace {

using sim::DiskOp;
using sim::OpKind;
using sim::OpLog;

bool is_mark(const DiskOp& op) { return op.kind == OpKind::mark; }

// Whether `sync` makes durable what `op` changed.
bool covers(const DiskOp& sync, const DiskOp& op) {
  switch (op.kind) {
    case OpKind::write:
    case OpKind::set_size:
      return sync.kind == OpKind::sync_file && sync.node == op.node;
    case OpKind::create:
    case OpKind::make_dir:
    case OpKind::link:
    case OpKind::remove:
      return sync.kind == OpKind::sync_dir && sync.node == op.place.dir;
    case OpKind::rename:
    case OpKind::exchange:
      return sync.kind == OpKind::sync_dir &&
             (sync.node == op.place.dir || sync.node == op.place2.dir);
    default:
      return false;
  }
}

bool is_creation(const DiskOp& op) {
  return op.kind == OpKind::create || op.kind == OpKind::make_dir;
}

// The operations between two marks, and the acknowledgement at their end if there
// is one.
struct Window {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool acknowledged = false;
};

std::vector<Window> windows_of(const OpLog& log) {
  std::vector<Window> windows;
  std::uint32_t durable_count = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= log.size(); ++i) {
    if (i < log.size() && !is_mark(log[i])) continue;
    Window window{begin, i, false};
    if (i < log.size()) {
      const Progress progress = from_mark(log[i].value);
      window.acknowledged = progress.durable_count > durable_count;
      durable_count = progress.durable_count;
    }
    windows.push_back(window);
    begin = i + 1;
  }
  return windows;
}

class MutantMaker {
 public:
  MutantMaker(const OpLog& log, const std::function<void(Mutant)>& use) : log_(log), use_(use) {}

  void run() {
    for (const Window& window : windows_of(log_)) {
      for (std::size_t i = window.begin; i < window.end; ++i) {
        if (log_[i].is_sync()) {
          drop(i);
          for (std::size_t j = i + 1; j < window.end; ++j) {
            if (!log_[j].is_sync()) move(j, i);
          }
          if (window.acknowledged) move(window.end, i);
        } else {
          move_behind_its_sync(i, window.end);
        }
      }
      swap_steps(window);
    }
  }

 private:
  void drop(std::size_t index) {
    OpLog changed = log_;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(index));
    use_({fmt::format("dropped operation {}: {}", index, describe(log_[index])),
          std::move(changed)});
  }

  // Operation `from` is done where `to` stood; the others close ranks.
  void move(std::size_t from, std::size_t to) {
    OpLog changed = log_;
    const auto at = [&](std::size_t i) { return changed.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
      std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
      std::rotate(at(to), at(from), at(from + 1));
    }
    use_({fmt::format("moved operation {} ({}) {} {} ({})", from, describe(log_[from]),
                      from < to ? "behind" : "before", to, describe(log_[to])),
          std::move(changed)});
  }

  void move_behind_its_sync(std::size_t index, std::size_t end) {
    for (std::size_t i = index + 1; i < end; ++i) {
      if (log_[i].is_sync() && covers(log_[i], log_[index])) return move(index, i);
    }
  }

  void swap_steps(const Window& window) {
    std::vector<Window> steps;
    for (std::size_t i = window.begin, begin = i; i < window.end; ++i) {
      if (!log_[i].is_sync()) continue;
      steps.push_back({begin, i + 1, false});
      begin = i + 1;
    }
    for (std::size_t a = 0; a < steps.size(); ++a) {
      for (std::size_t b = a + 1; b < steps.size(); ++b) swap(steps[a], steps[b]);
    }
  }

  void swap(const Window& first, const Window& second) {
    OpLog changed(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(first.begin));
    const auto add = [&](std::size_t begin, std::size_t end, bool creations) {
      for (std::size_t i = begin; i < end; ++i) {
        if (is_creation(log_[i]) == creations) changed.push_back(log_[i]);
      }
    };
    add(first.begin, second.end, true);
    add(second.begin, second.end, false);
    add(first.end, second.begin, false);
    add(first.begin, first.end, false);
    changed.insert(changed.end(), log_.begin() + static_cast<std::ptrdiff_t>(second.end),
                   log_.end());
    use_({fmt::format("swapped the steps {}..{} and {}..{}", first.begin, first.end - 1,
                      second.begin, second.end - 1),
          std::move(changed)});
  }

  const OpLog& log_;
  const std::function<void(Mutant)>& use_;
};

}  // namespace

void for_each_mutant(const OpLog& log, const std::function<void(Mutant)>& use) {
  // Reads have no part in what a crash leaves; without them neighbours are near.
  OpLog changes;
  std::copy_if(log.begin(), log.end(), std::back_inserter(changes),
               [](const DiskOp& op) { return op.kind != OpKind::read; });
  MutantMaker(changes, use).run();
}

std::string MutantResult::summary() const {
  std::string text = fmt::format("{} mutants: {} caught, {} infeasible, {} survived", mutant_count,
                                 caught_count, infeasible.size(), survivors.size());
  for (const std::string& mutant : infeasible) text += "\n  infeasible: " + mutant;
  for (const std::string& mutant : survivors) text += "\n  survived: " + mutant;
  return text;
}

MutantResult sweep_mutants(Subject& subject, const Workload& workload,
                           const SweepOptions& options) {
  auto run = record_run(subject, workload, {}, {Records{}}, options.seed);
  if (run) return sweep_mutants(subject, std::move(*run), options);
  MutantResult failed;
  failed.survivors.push_back("the workload fails without any crash: " + run.error().message());
  return failed;
}

MutantResult sweep_mutants(Subject& subject, RecordedRun run, const SweepOptions& options) {
  MutantResult result;
  SweepOptions until_first = options;
  until_first.violation_count_max = 1;
  const OpLog log = std::move(run.log);
  for_each_mutant(log, [&](Mutant mutant) {
    ++result.mutant_count;
    run.log = std::move(mutant.log);
    bool feasible = true;
    const SweepResult swept = sweep_run(subject, run, until_first, &feasible);
    if (!swept.ok()) {
      ++result.caught_count;
    } else if (!feasible) {
      result.infeasible.push_back(mutant.description);
    } else {
      result.survivors.push_back(mutant.description);
    }
  });
  return result;
}

}  // namespace varve::crash
