#include "crash/mutants.h"

#include <fmt/format.h>

#include <algorithm>

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

// Swapping (first, second) weakens the protocol; see make_mutants.
bool worth_swapping(const DiskOp& first, const DiskOp& second) {
  if (first.is_sync()) {
    return is_mark(second) ? is_acknowledge(second.value) : !second.is_sync();
  }
  return second.is_sync() && covers(second, first);
}

void add_dropped_syncs(const OpLog& log, std::vector<Mutant>& mutants) {
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (!log[i].is_sync()) continue;
    OpLog changed = log;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    mutants.push_back({fmt::format("dropped operation {}: {}", i, describe(log[i])), changed});
  }
}

void add_swapped_operations(const OpLog& log, std::vector<Mutant>& mutants) {
  for (std::size_t i = 0; i + 1 < log.size(); ++i) {
    if (!worth_swapping(log[i], log[i + 1])) continue;
    OpLog changed = log;
    std::swap(changed[i], changed[i + 1]);
    mutants.push_back({fmt::format("swapped operation {} ({}) with the next ({})", i,
                                   describe(log[i]), describe(log[i + 1])),
                       changed});
  }
}

// Where the step that starts at `begin` ends: behind its sync. 0 if a mark or the
// end comes first.
std::size_t step_end(const OpLog& log, std::size_t begin) {
  for (std::size_t i = begin; i < log.size() && !is_mark(log[i]); ++i) {
    if (log[i].is_sync()) return i + 1;
  }
  return 0;
}

void add_swapped_steps(const OpLog& log, std::vector<Mutant>& mutants) {
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t middle = step_end(log, begin);
    if (middle == 0) {
      ++begin;
      continue;
    }
    if (const std::size_t end = step_end(log, middle); end != 0) {
      OpLog changed = log;
      const auto at = [&](std::size_t i) {
        return changed.begin() + static_cast<std::ptrdiff_t>(i);
      };
      std::rotate(at(begin), at(middle), at(end));
      mutants.push_back(
          {fmt::format("swapped the steps {}..{} and {}..{}", begin, middle - 1, middle, end - 1),
           changed});
    }
    begin = middle;
  }
}

}  // namespace

std::vector<Mutant> make_mutants(const OpLog& log) {
  // Reads have no part in what a crash leaves; without them neighbours are near.
  OpLog changes;
  std::copy_if(log.begin(), log.end(), std::back_inserter(changes),
               [](const DiskOp& op) { return op.kind != OpKind::read; });
  std::vector<Mutant> mutants;
  add_dropped_syncs(changes, mutants);
  add_swapped_operations(changes, mutants);
  add_swapped_steps(changes, mutants);
  return mutants;
}

std::string MutantResult::summary() const {
  std::string text = fmt::format("{} mutants: {} caught, {} infeasible, {} survived", mutant_count,
                                 caught_count, infeasible_count, survivors.size());
  for (const std::string& survivor : survivors) text += "\n  survived: " + survivor;
  return text;
}

MutantResult sweep_mutants(Subject& subject, const Workload& workload,
                           const SweepOptions& options) {
  MutantResult result;
  auto run = record_run(subject, workload, {}, {Records{}}, options.seed);
  if (!run) {
    result.survivors.push_back("the workload fails without any crash: " + run.error().message());
    return result;
  }
  SweepOptions until_first = options;
  until_first.violation_count_max = 1;
  for (Mutant& mutant : make_mutants(run->log)) {
    ++result.mutant_count;
    run->log = std::move(mutant.log);
    bool feasible = true;
    const SweepResult swept = sweep_run(subject, *run, until_first, &feasible);
    if (!swept.ok()) {
      ++result.caught_count;
    } else if (!feasible) {
      ++result.infeasible_count;
    } else {
      result.survivors.push_back(mutant.description);
    }
  }
  return result;
}

}  // namespace varve::crash
