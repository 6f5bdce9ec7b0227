// What an open journal is made of. engine.cpp commits, engine_opening.cpp finds out what there is,
// engine_snapshots.cpp makes snapshots and lets go of what is old, engine_history.cpp looks back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/engine.h"
#include "journal/history_index.h"
#include "journal/replay.h"
#include "journal/snapshot_store.h"
#include "journal/tick_log.h"

namespace varve::journal {

class Engine final : public StorageEngine {
 public:
  Engine(Vfs& vfs, std::string_view path, const StorageConfig& config, EngineOptions options)
      : vfs_(vfs), path_(path), config_(config), options_(std::move(options)) {}
  ~Engine() override { stop(); }

  Status open();

  const StorageReport& report() const override { return report_; }
  Result<ComponentId> register_component(std::string_view name) override;
  std::optional<ComponentId> component_id(std::string_view name) const override {
    const std::lock_guard lock(mutex_);
    return names_.id_of(name);
  }
  Status commit_tick(std::uint64_t tick, const TickMutations& mutations) override {
    return or_out_of_memory([&]() -> Status {
      VARVE_TRY(log_tick(tick, mutations));
      // The tick is committed whatever becomes of the snapshot.
      const Status made = or_out_of_memory([&] { return make_due_snapshot(tick); });
      if (!made) note_snapshot_problem(made.error());
      const Status indexed = or_out_of_memory([&] { return index_due_ticks(tick); });
      if (!indexed) note_snapshot_problem(indexed.error());
      return {};
    });
  }
  Status sync() override {
    const std::lock_guard lock(log_mutex_);
    VARVE_TRY(check_open());
    return log_->sync();
  }
  std::optional<std::uint64_t> latest_tick() const override {
    const std::lock_guard lock(mutex_);
    return latest_tick_;
  }
  std::optional<std::uint64_t> durable_tick() const override;
  std::optional<std::uint64_t> oldest_tick() const override;
  EntityState state() const override {
    const std::lock_guard lock(mutex_);
    return is_broken_ ? EntityState() : state_;
  }
  Result<EntityState> recover(std::uint64_t tick) const override;
  Result<std::shared_ptr<const HistoricalState>> at_tick(std::uint64_t tick) const override;
  Result<std::vector<ComponentChange>> entity_history(EntityId entity, ComponentId component,
                                                      const TickRange& range) const override;
  Result<std::optional<std::uint64_t>> find_tick(
      const TickRange& range,
      const std::function<Result<bool>(const HistoricalState&)>& holds) const override;
  std::uint64_t decoded_count() const override;
  Result<SnapshotId> create_snapshot() override;
  std::vector<SnapshotMeta> snapshots() const override {
    const std::lock_guard lock(mutex_);
    return snapshots_;
  }
  std::optional<Error> snapshot_problem() const override {
    const std::lock_guard lock(mutex_);
    return snapshot_problem_;
  }
  Status truncate_before(std::uint64_t tick) override;
  Status close() override;

  // For past states.
  const HistoryIndex& index() const noexcept { return *index_; }
  // not_found unless the log still has all behind `base`; nullopt: its beginning.
  Status check_leads_on(const std::optional<std::uint64_t>& base, std::uint64_t tick) const;
  void count_decoded(std::uint64_t entry_count) const {
    decoded_count_.fetch_add(entry_count, std::memory_order_relaxed);
  }

 private:
  // A state of which a snapshot is wanted.
  struct Wanted {
    std::uint64_t tick = 0;
    EntityState state;
  };

  Status check_open() const;
  Status open_parts();
  Result<std::unique_ptr<TickLog>> open_log() const;
  Status load_state();
  Status go_on_behind_log(std::optional<std::uint64_t>& latest);
  Status set_damage_aside(const Replayed& good);
  // The history `tick` is part of. invalid_argument if it has not come yet.
  Result<History> history_at(std::uint64_t tick) const;
  // What is left of a range: all of it lies in the history then.
  Result<TickRange> told_range(const TickRange& range) const;
  Status check_components(const TickMutations& mutations) const;
  Status log_tick(std::uint64_t tick, const TickMutations& mutations);

  bool snapshot_is_due(std::uint64_t tick) const;
  Status make_due_snapshot(std::uint64_t tick);
  // Every so often: reads what the index does not know yet, and writes what is over.
  Status index_due_ticks(std::uint64_t tick);
  Status keep_index();
  void note_snapshot_problem(const Error& error);
  // The mutex for snapshots is not held.
  Result<SnapshotId> make_snapshot(const Wanted& wanted);
  // What is old enough goes. The mutex for snapshots is held.
  Status retain();
  Status remove_superfluous();
  Status cut_log(std::uint64_t base);
  History history() const;
  void run() noexcept;
  void stop() noexcept;

  Vfs& vfs_;
  const std::string path_;
  const StorageConfig config_;
  const EngineOptions options_;
  std::unique_ptr<WriterLock> lock_;
  std::unique_ptr<SnapshotStore> store_;
  std::unique_ptr<TickLog> log_;
  std::unique_ptr<HistoryIndex> index_;
  StorageReport report_;
  std::atomic<bool> is_closed_ = false;
  // A tick is in the log and only in parts in the state, which is good for nothing any more.
  std::atomic<bool> is_broken_ = false;

  mutable std::atomic<std::uint64_t> decoded_count_ = 0;

  // In this order where several are held: through a snapshot; through a change of the index;
  // through a change of the log; for what follows.
  std::mutex snapshot_mutex_;
  std::mutex index_mutex_;
  mutable std::mutex log_mutex_;
  mutable std::mutex mutex_;
  ComponentNames names_;
  EntityState state_;
  std::optional<std::uint64_t> latest_tick_;
  std::vector<SnapshotMeta> snapshots_;
  std::optional<std::uint64_t> log_base_;
  std::optional<Error> snapshot_problem_;
  std::uint64_t snapshot_tick_ = 0;   // of the last one that was asked for
  std::uint64_t unsnapped_size_ = 0;  // of the ticks logged since
  std::optional<Wanted> wanted_;
  std::uint64_t indexed_tick_ = 0;     // the last one at which the index was looked after
  std::uint64_t unindexed_count_ = 0;  // ticks logged since
  bool is_index_due_ = false;
  bool is_stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace varve::journal
