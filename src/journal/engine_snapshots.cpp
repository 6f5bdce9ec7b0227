#include <fmt/format.h>

#include <algorithm>

#include "journal/engine_parts.h"
#include "journal/retention.h"

namespace varve::journal {

// --- Snapshots -----------------------------------------------------------------------

bool Engine::snapshot_is_due(std::uint64_t tick) const {
  switch (config_.snapshot_policy.kind) {
    case SnapshotPolicy::Kind::every_n_ticks:
      return tick - snapshot_tick_ >= std::max<std::uint64_t>(1, config_.snapshot_policy.ticks);
    case SnapshotPolicy::Kind::log_size:
      return unsnapped_size_ >= config_.snapshot_policy.size;
    case SnapshotPolicy::Kind::manual:
      return false;
  }
  return false;
}

Status Engine::make_due_snapshot(std::uint64_t tick) {
  {
    const std::lock_guard lock(mutex_);
    if (!snapshot_is_due(tick)) return {};
    snapshot_tick_ = tick;
    unsnapped_size_ = 0;
    // One that waits is overtaken by this one: the newest is of the most use.
    wanted_ = Wanted{tick, state_};
  }
  if (options_.background) {
    wake_.notify_all();
    return {};
  }
  const Wanted wanted = *std::exchange(wanted_, std::nullopt);
  VARVE_TRY(make_snapshot(wanted));
  return {};
}

void Engine::note_snapshot_problem(const Error& error) {
  const std::lock_guard lock(mutex_);
  snapshot_problem_ = error;
}

void Engine::run() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return is_stopping_ || wanted_ || is_index_due_; });
    if (is_stopping_) return;
    const std::optional<Wanted> wanted = std::exchange(wanted_, std::nullopt);
    is_index_due_ = false;
    lock.unlock();
    Status made = or_out_of_memory([&]() -> Status {
      if (wanted) VARVE_TRY(make_snapshot(*wanted));
      return keep_index();
    });
    lock.lock();
    if (!made) snapshot_problem_ = made.error();
  }
}

Result<SnapshotId> Engine::create_snapshot() {
  return or_out_of_memory([&]() -> Result<SnapshotId> {
    VARVE_TRY(check_open());
    Wanted wanted;
    {
      const std::lock_guard lock(mutex_);
      if (!latest_tick_)
        return invalid_argument(fmt::format("{}: there is no tick to make a snapshot of", path_));
      wanted = {*latest_tick_, state_};
      snapshot_tick_ = wanted.tick;
      unsnapped_size_ = 0;
    }
    return make_snapshot(wanted);
  });
}

Result<SnapshotId> Engine::make_snapshot(const Wanted& wanted) {
  const std::lock_guard snapshot_lock(snapshot_mutex_);
  {
    const std::lock_guard lock(mutex_);
    const auto there =
        std::find_if(snapshots_.begin(), snapshots_.end(),
                     [&](const SnapshotMeta& each) { return each.tick == wanted.tick; });
    if (there != snapshots_.end()) return there->id;
  }
  VARVE_ASSIGN(const Bytes bytes, encode_snapshot(wanted.tick, wanted.state));
  {
    const std::lock_guard lock(mutex_);
    snapshot_problem_.reset();
  }
  // Most often it is by now, and the game need not wait for a sync.
  if (log_->durable_tick() < wanted.tick) {
    const std::lock_guard log_lock(log_mutex_);
    VARVE_TRY(check_open());
    VARVE_TRY(log_->sync());
  }
  VARVE_ASSIGN(const SnapshotMeta meta, store_->put(wanted.tick, bytes, options_.now()));
  {
    const std::lock_guard lock(mutex_);
    const auto behind = std::upper_bound(
        snapshots_.begin(), snapshots_.end(), meta,
        [](const SnapshotMeta& a, const SnapshotMeta& b) { return a.tick < b.tick; });
    snapshots_.insert(behind, meta);
  }
  // It is there, whatever becomes of the old ones: they are looked at again with the next.
  if (const Status retained = retain(); !retained) note_snapshot_problem(retained.error());
  return meta.id;
}

// --- What is old -----------------------------------------------------------------------

Status Engine::retain() {
  std::optional<std::uint64_t> base;
  std::vector<SnapshotMeta> snapshots;
  {
    const std::lock_guard lock(mutex_);
    snapshots = snapshots_;
    base = cut_point(snapshots_, *latest_tick_, config_.history_ticks);
  }
  if (base) {
    const Status cut = cut_log(*base);
    if (!cut && cut.error().code() != ErrorCode::corruption) return cut;
  }
  // From the oldest on, until few enough are left.
  for (const SnapshotMeta& snapshot : snapshots) {
    if (config_.max_wal_segments == 0 || log_->sizes().segment_count <= config_.max_wal_segments)
      break;
    const Status cut = cut_log(snapshot.tick);
    // One that is damaged is no ground to stand on; the next may be.
    if (!cut && cut.error().code() != ErrorCode::corruption) return cut;
  }
  return remove_superfluous();
}

Status Engine::remove_superfluous() {
  std::vector<std::uint64_t> going;
  {
    const std::lock_guard lock(mutex_);
    if (log_base_) going = superfluous(snapshots_, *log_base_);
  }
  for (const std::uint64_t tick : going) {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(snapshots_, [&](const SnapshotMeta& each) { return each.tick == tick; });
    }
    VARVE_TRY(store_->erase(tick));
  }
  return {};
}

Status Engine::cut_log(std::uint64_t base) {
  {
    const std::lock_guard lock(mutex_);
    if (log_base_ && *log_base_ >= base) return {};
  }
  // Where no whole segment would go, nothing is given up either.
  if (!log_->can_truncate_before(base + 1)) return {};
  // Everything later stands on this one alone.
  VARVE_TRY(store_->get(base));
  VARVE_TRY(store_->set_log_base(base));
  {
    const std::lock_guard lock(mutex_);
    log_base_ = base;
  }
  VARVE_TRY(check_open());
  // Ticks go on meanwhile. Snapshots do not: theirs is the mutex that is held.
  VARVE_TRY(log_->truncate_before(base + 1));
  const std::lock_guard index_lock(index_mutex_);
  return index_->forget_before(log_->first_tick().value_or(base + 1));
}

Status Engine::truncate_before(std::uint64_t tick) {
  return or_out_of_memory([&]() -> Status {
    VARVE_TRY(check_open());
    const std::lock_guard snapshot_lock(snapshot_mutex_);
    std::optional<std::uint64_t> base;
    {
      const std::lock_guard lock(mutex_);
      for (const SnapshotMeta& snapshot : snapshots_) {
        if (snapshot.tick <= tick) base = snapshot.tick;
      }
    }
    if (base) VARVE_TRY(cut_log(*base));
    return remove_superfluous();
  });
}

}  // namespace varve::journal
