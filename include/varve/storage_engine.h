// Durable ticks for a game with entities: a log of what each tick changed, snapshots of the whole,
// and recovery of any tick since.
//
//   auto engine = StorageEngine::open("world.journal", {});
//   auto position = (*engine)->register_component("position");
//   ...
//   Status committed = (*engine)->commit_tick(tick, recorder.take());
//   ...
//   auto yesterday = (*engine)->recover(tick - 72'000);   // an EntityState
//
// Chunks that a tick puts or edits are logged with it, but are no part of the state: an EntityState
// has entities, singletons, players and globals.
//
// Thread safety: the calls that change something by one thread at a time; recover() and what only
// asks by any thread, meanwhile too. Nobody may be in a call while close() is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "varve/backend.h"
#include "varve/entity_state.h"
#include "varve/result.h"
#include "varve/tick.h"

namespace varve {

struct SnapshotPolicy {
  enum class Kind : std::uint8_t { every_n_ticks, log_size, manual };
  Kind kind = Kind::every_n_ticks;
  std::uint64_t ticks = 1'200;
  std::uint64_t size = std::uint64_t{64} << 20;  // of the log since the last snapshot
};

enum class LogCompression : std::uint8_t { none, lz4, zstd };

struct StorageConfig {
  std::uint64_t wal_segment_size = std::uint64_t{64} << 20;
  SnapshotPolicy snapshot_policy = {};
  // A tick is a batch: every_n counts ticks. What a crash takes is always from the end.
  Durability sync_mode = {.kind = Durability::Kind::every_ms, .interval_ms = 50};
  LogCompression compression = LogCompression::lz4;
  // The log keeps at least what lies within this many ticks of the latest: an hour at 20 a second.
  std::uint64_t history_ticks = 72'000;
  // And at most so many segments, if it is not 0: older ones go as soon as a snapshot covers them.
  std::size_t max_wal_segments = 0;
  // If the log is damaged before its end: go on from the last tick that can be told. What the log
  // had is kept beside it. Without this such a journal is not opened.
  bool accept_damage = false;
};

using SnapshotId = std::uint64_t;
struct SnapshotMeta {
  SnapshotId id = 0;
  std::uint64_t tick = 0;
  std::chrono::system_clock::time_point created_at = {};
  std::uint64_t size = 0;
};

// What opening found. Empty for what was closed and is whole.
struct StorageReport {
  std::optional<std::uint64_t> cut_after =
      {};  // a tick nobody was promised was cut off behind this one
  std::vector<Error> problems = {};
};

class StorageEngine {
 public:
  // Opens the journal in the folder `path`, or makes it: its log in `log/`, its snapshots and
  // tables in a file backend in `snapshots/`. `busy` if another process has it.
  static Result<std::unique_ptr<StorageEngine>> open(std::string_view path,
                                                     const StorageConfig& config = {});
  virtual ~StorageEngine() = default;

  virtual const StorageReport& report() const = 0;

  // The id of a component or singleton by this name, the same in every run. A new one is durable
  // when this returns.
  virtual Result<ComponentId> register_component(std::string_view name) = 0;
  virtual std::optional<ComponentId> component_id(std::string_view name) const = 0;

  // Durable as sync_mode says. Refused with nothing changed: a tick not behind the latest, a
  // component nobody registered (but kWholeEntity), mutations the state refuses. After an error of
  // the disk it may be that nothing more is taken, and that the tick is there all the same: open
  // the journal again and ask for latest_tick().
  virtual Status commit_tick(std::uint64_t tick, const TickMutations& mutations) = 0;
  virtual Status sync() = 0;

  // Empty for a journal without ticks.
  virtual std::optional<std::uint64_t> latest_tick() const = 0;
  virtual std::optional<std::uint64_t> durable_tick() const = 0;
  // From here on every tick can be recovered; before it only those that have a snapshot.
  virtual std::optional<std::uint64_t> oldest_tick() const = 0;

  // The state at the latest tick: a copy, for almost nothing. Empty once memory ran out in the
  // midst of a tick, after which every other call says so.
  virtual EntityState state() const = 0;
  // The state as it was after `tick`. A tick between two that changed something is as the first of
  // them. not_found, naming the oldest tick, if it lies before the history; invalid_argument if it
  // has not come yet.
  virtual Result<EntityState> recover(std::uint64_t tick) const = 0;

  // Of the latest tick, durable when it returns; the policy makes them by itself in the background.
  virtual Result<SnapshotId> create_snapshot() = 0;
  virtual std::vector<SnapshotMeta> snapshots() const = 0;
  // Why the last one in the background was not made, or what it replaces not removed; nothing is
  // lost by it but time and space. nullopt if all is well.
  virtual std::optional<Error> snapshot_problem() const = 0;

  // Removes history before `tick`: whole segments that a snapshot covers, and snapshots nothing
  // needs any more.
  virtual Status truncate_before(std::uint64_t tick) = 0;

  virtual Status close() = 0;
};

}  // namespace varve
