// Chooses which of the states a crash may leave are looked at.
//
// With few pending atoms: all subsets. With many: prefixes, all but one, only one
// (at so many places as CrashLimits says), and seeded samples. In addition, one sector at a time
// holds garbage. The choice depends on the atoms and the seed alone.
#pragma once

#include <cstdint>
#include <functional>

#include "io/sim/disk_replay.h"

namespace varve::sim {

struct CrashLimits {
  // Up to this many pending atoms, all 2^n subsets are taken.
  std::size_t all_subsets_atom_count = 7;
  // Beyond, each of prefixes, leave-one-out and keep-one is taken at up to this
  // many sectors, evenly spread, and at as many changes of names and sizes ...
  std::size_t position_count_max = 64;
  // ... and this many random subsets.
  std::size_t sample_count = 24;
  // Sectors that get their turn at garbage, each in three surroundings.
  std::size_t garbage_count_max = 8;
};

// Calls `visit` for each choice, until it returns false.
void for_each_crash(const DiskReplay& replay, const CrashLimits& limits, std::uint64_t seed,
                    const std::function<bool(const CrashChoice&)>& visit);

}  // namespace varve::sim
