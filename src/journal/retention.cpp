#include "journal/retention.h"

namespace varve::journal {

std::optional<std::uint64_t> cut_point(const std::vector<SnapshotMeta>& snapshots,
                                       std::uint64_t latest_tick, std::uint64_t history_ticks) {
  std::optional<std::uint64_t> found;
  for (const SnapshotMeta& snapshot : snapshots) {
    if (snapshot.tick > latest_tick || latest_tick - snapshot.tick < history_ticks) break;
    found = snapshot.tick;
  }
  return found;
}

std::vector<std::uint64_t> superfluous(const std::vector<SnapshotMeta>& snapshots,
                                       std::uint64_t log_base) {
  std::vector<std::uint64_t> going;
  // From the youngest to the oldest.
  std::uint64_t kept_age = 0;
  for (auto at = snapshots.rbegin(); at != snapshots.rend(); ++at) {
    if (at->tick >= log_base) continue;
    const std::uint64_t age = log_base - at->tick;
    if (kept_age != 0 && age / 2 < kept_age) {
      going.push_back(at->tick);
    } else {
      kept_age = age;
    }
  }
  return going;
}

}  // namespace varve::journal
