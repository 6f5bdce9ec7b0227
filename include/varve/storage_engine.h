// Durable ticks for a game with entities: a log of what each tick changed, snapshots of the whole,
// and recovery of any tick since.
//
//   auto engine = StorageEngine::open("world.journal", {});
//   auto position = (*engine)->register_component("position");
//   ...
//   Status committed = (*engine)->commit_tick(tick, recorder.take());
//   ...
//   auto earlier = (*engine)->recover(tick - 72'000);   // an EntityState
//   auto past = (*engine)->at_tick(tick - 72'000);      // what is asked for of it, and no more
//   auto health = (*past)->component(entity, health_id);
//
// Chunks that a tick puts or edits are logged with it, but are no part of the state: an EntityState
// has entities, singletons, players and globals.
//
// Thread safety: the calls that change something by one thread at a time; recover(), what looks
// back and what only asks by any thread, meanwhile too. Nobody may be in a call while close() is,
// and past states must be gone by then.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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

// A state at a past tick, to read. Nothing of it is made before it is asked for. One component or
// singleton costs a snapshot and the few entries of the log that speak of it; what needs all
// entities replays the log from the snapshot, once.
//
// Thread safety: any thread.
// Errors: not_found if that part of the history was truncated since; corruption where the log or
// the snapshots are damaged.
class HistoricalState {
 public:
  virtual ~HistoricalState() = default;
  virtual std::uint64_t tick() const = 0;

  // nullopt if it had none, or was not there.
  virtual Result<std::optional<Bytes>> component(EntityId entity, ComponentId id) const = 0;
  virtual Result<std::optional<Bytes>> singleton(ComponentId id) const = 0;
  virtual Result<std::optional<Bytes>> player(std::string_view name) const = 0;
  virtual Result<std::optional<Bytes>> global(std::string_view name) const = 0;

  // Of all of it. Views are good for as long as this is.
  virtual Result<std::optional<EntityView>> find(EntityId entity) const = 0;
  // By rising index, until it returns false. The view is good for the call alone.
  virtual Status for_each(const std::function<bool(const EntityView&)>& visit) const = 0;
  // By rising index.
  virtual Result<std::vector<EntityId>> entities_in(const ChunkPos& pos) const = 0;
  virtual Result<std::vector<EntityId>> entities_in(const ChunkBox& box) const = 0;
  virtual Result<EntityState> state() const = 0;
};

// A tick that set a component, removed it or despawned its entity, and what there was afterwards.
struct ComponentChange {
  std::uint64_t tick = 0;
  std::optional<Bytes> value = {};  // nullopt: none
  friend bool operator==(const ComponentChange&, const ComponentChange&) = default;
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

  // The same, made as it is asked for. It must be gone before close().
  virtual Result<std::shared_ptr<const HistoricalState>> at_tick(std::uint64_t tick) const = 0;
  // The changes of a component in the range, by rising tick. Changes are known behind oldest_tick()
  // where history was truncated, and from the beginning where it was not: not_found, naming the
  // tick, for a range that begins earlier. What has not come yet has no changes.
  virtual Result<std::vector<ComponentChange>> entity_history(EntityId entity,
                                                              ComponentId component,
                                                              const TickRange& range) const = 0;
  // The first tick of the range at which the predicate holds; nullopt if it never does. Between two
  // ticks that changed something the state is that of the first, and is looked at once. not_found
  // for a range that begins before a history that was truncated.
  virtual Result<std::optional<std::uint64_t>> find_tick(
      const TickRange& range,
      const std::function<Result<bool>(const HistoricalState&)>& holds) const = 0;
  // How many entries of the log were read and decoded, wholly or in part, for all that looked back.
  virtual std::uint64_t decoded_count() const = 0;

  // Of the latest tick, durable when it returns; the policy makes them by itself in the background.
  virtual Result<SnapshotId> create_snapshot() = 0;
  virtual std::vector<SnapshotMeta> snapshots() const = 0;
  // Why the last one in the background was not made, or what it replaces not removed, or the index
  // of history not written; nothing is lost by it but time and space. nullopt if all is well.
  virtual std::optional<Error> snapshot_problem() const = 0;

  // Removes history before `tick`: whole segments that a snapshot covers, and snapshots nothing
  // needs any more.
  virtual Status truncate_before(std::uint64_t tick) = 0;

  virtual Status close() = 0;
};

}  // namespace varve
