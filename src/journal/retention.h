// Which of a journal's snapshots are worth keeping.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "varve/storage_engine.h"

namespace varve::journal {

// Both take snapshots by rising tick.

// The one the log may be cut behind, so that all of the last `history_ticks` can still be told: the
// newest that is at least that old. nullopt if none is.
std::optional<std::uint64_t> cut_point(const std::vector<SnapshotMeta>& snapshots,
                                       std::uint64_t latest_tick, std::uint64_t history_ticks);

// Those that may go. Where the log is, all stay: each makes going back cheaper. Before it they are
// single moments, of which fewer stay the older they are: of those kept, each is at least twice as
// far from the log as the one after it.
std::vector<std::uint64_t> superfluous(const std::vector<SnapshotMeta>& snapshots,
                                       std::uint64_t log_base);

}  // namespace varve::journal
