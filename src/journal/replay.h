// The state of a past tick, from a snapshot and the log behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "journal/snapshot_store.h"
#include "journal/tick_log.h"

namespace varve::journal {

// What there is to go by.
struct History {
  const SnapshotStore& store;
  const TickLog& log;
  std::vector<SnapshotMeta> snapshots;  // by rising tick
  // Where the log goes on from; nullopt if it has its beginning.
  std::optional<std::uint64_t> log_base;
};

struct Replayed {
  EntityState state;
  std::optional<std::uint64_t> tick;  // the last that went into it
  std::vector<Error> problems;        // snapshots that could not be used
  std::uint64_t log_size = 0;         // of the payloads behind the snapshot
  std::uint64_t entry_count = 0;      // of them
};

// not_found if the tick lies before the history.
Status check_is_told(const History& history, std::uint64_t tick);

// What replaying begins with: the newest good snapshot that the log leads on from to `tick`, or
// nothing, if the log has its beginning.
Status find_base(const History& history, std::uint64_t tick, Replayed& out);
// Goes on from there.
Status replay_on(const History& history, std::uint64_t tick, Replayed& out);
// One entry more.
Result<bool> apply_entry(std::uint64_t tick, const Bytes& payload, Replayed& out);

// The state after `tick`. A snapshot that is damaged is a problem, and the one before it is taken.
// not_found if the tick lies before the history. If the log is damaged on the way, `out` has the
// state up to there.
Status replay(const History& history, std::uint64_t tick, Replayed& out);

}  // namespace varve::journal
