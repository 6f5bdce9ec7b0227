#include "journal/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "backend/log/log_backend.h"
#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"
#include "journal/replay.h"
#include "journal/retention.h"
#include "journal/snapshot_store.h"
#include "journal/tick_log.h"

namespace varve::journal {
namespace {

constexpr std::string_view kLogFolder = "log";
constexpr std::string_view kSnapshotFolder = "snapshots";

CompressionId compression_of(LogCompression compression) {
  switch (compression) {
    case LogCompression::none:
      return CompressionId::none;
    case LogCompression::lz4:
      return CompressionId::lz4;
    case LogCompression::zstd:
      return CompressionId::zstd;
  }
  return CompressionId::lz4;
}

// A folder whose name is not durable when it returns an error is made anew the next time: a sync
// that failed is no good a second time.
Status make_folder(Vfs& vfs, const std::string& path) {
  VARVE_ASSIGN(const bool is_there, vfs.exists(path));
  if (is_there) return {};
  VARVE_TRY(vfs.create_dir(path));
  Status synced = vfs.sync_dir(path_parent(path));
  if (!synced) (void)vfs.remove_dir(path);
  return synced;
}

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
    return state_;
  }
  Result<EntityState> recover(std::uint64_t tick) const override;
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

 private:
  // A state of which a snapshot is wanted.
  struct Wanted {
    std::uint64_t tick = 0;
    EntityState state;
  };

  Status check_open() const {
    if (is_closed_) return invalid_argument(fmt::format("{}: the journal is closed", path_));
    if (is_broken_) {
      return io_error(
          fmt::format("{}: memory ran out in the midst of a tick; open it again", path_));
    }
    return {};
  }
  Status open_parts();
  Result<std::unique_ptr<TickLog>> open_log() const;
  Status load_state();
  Status go_on_behind_log(std::optional<std::uint64_t>& latest);
  Status set_damage_aside(const Replayed& good);
  Status check_components(const TickMutations& mutations) const;
  Status log_tick(std::uint64_t tick, const TickMutations& mutations);

  bool snapshot_is_due(std::uint64_t tick) const;
  Status make_due_snapshot(std::uint64_t tick);
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
  StorageReport report_;
  std::atomic<bool> is_closed_ = false;
  // A tick is in the log and only in parts in the state, which is good for nothing any more.
  std::atomic<bool> is_broken_ = false;

  // In this order where several are held: through a snapshot; through a change of the log; for what
  // follows.
  std::mutex snapshot_mutex_;
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
  bool is_stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

// --- Opening and closing -------------------------------------------------------------

Status Engine::open() {
  VARVE_TRY(make_folder(vfs_, path_));
  VARVE_ASSIGN(lock_, vfs_.lock_writer(path_join(path_, "lock")));
  VARVE_TRY(open_parts());
  VARVE_TRY(load_state());
  if (!options_.background) return {};
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {
    return io_error(fmt::format("{}: no thread for snapshots: {}", path_, failure.what()));
  }
  return {};
}

Result<std::unique_ptr<TickLog>> Engine::open_log() const {
  return TickLog::open(vfs_, path_join(path_, kLogFolder),
                       {.durability = config_.sync_mode,
                        .compression = compression_of(config_.compression),
                        .segment_size = config_.wal_segment_size,
                        .background = options_.background});
}

Status Engine::open_parts() {
  log::LogOptions options{.traits = log::file_backend_traits()};
  options.background = options_.background;
  options.seed = options_.seed;
  VARVE_ASSIGN(auto backend,
               log::open_log(vfs_, path_join(path_, kSnapshotFolder), std::move(options)));
  report_.problems = backend->open_report().problems;
  // Whoever made the folder may not have got as far as its name. Nothing was promised to anybody
  // then.
  if (backend->sequence() == 0) VARVE_TRY(vfs_.sync_dir(path_parent(path_)));
  VARVE_ASSIGN(store_, SnapshotStore::open(std::move(backend)));
  VARVE_ASSIGN(names_, store_->names());
  VARVE_ASSIGN(snapshots_, store_->list());
  VARVE_ASSIGN(log_base_, store_->log_base());
  VARVE_ASSIGN(log_, open_log());
  report_.cut_after = log_->report().cut_after;
  const std::vector<Error>& damage = log_->report().problems;
  report_.problems.insert(report_.problems.end(), damage.begin(), damage.end());
  return {};
}

Status Engine::load_state() {
  const std::optional<std::uint64_t> end = log_->latest_tick();
  std::optional<std::uint64_t> latest = end;
  VARVE_TRY(go_on_behind_log(latest));
  if (!latest) return {};
  if (!log_base_ && log_->begins_cut()) {
    return corruption(
        fmt::format("{}: the first segments of the log are missing, and nobody cut them off: bring "
                    "them back",
                    path_));
  }
  Replayed replayed;
  Status told = replay(history(), *latest, replayed);
  report_.problems.insert(report_.problems.end(), replayed.problems.begin(),
                          replayed.problems.end());
  // What comes next would not follow from what is there, and could not be told from it.
  const bool lost_its_end = log_->report().is_end_damaged && latest == end;
  if (told && lost_its_end) told = corruption(path_ + ": the end of the log is damaged");
  if (!told && told.error().code() == ErrorCode::corruption && config_.accept_damage &&
      replayed.tick) {
    report_.problems.push_back(told.error());
    VARVE_TRY(set_damage_aside(replayed));
  } else if (!told) {
    const std::string what =
        replayed.tick ? fmt::format(
                            "tick {} is the last that can be told; open it with "
                            "accept_damage to go on from there, or bring back a backup",
                            *replayed.tick)
                      : "no tick can be told; bring back a backup, or move the folder away";
    return told.error().with_context(fmt::format("{}: {}", path_, what));
  }
  state_ = std::move(replayed.state);
  // In those behind the last one that has an entry nothing happened.
  latest_tick_ = told ? latest : replayed.tick;
  // Damaged, or of ticks that are lost. They stay where they are until there are new ones.
  std::erase_if(snapshots_, [&](const SnapshotMeta& each) { return each.tick > *latest_tick_; });
  snapshot_tick_ = snapshots_.empty() ? 0 : snapshots_.back().tick;
  unsnapped_size_ = replayed.log_size;
  return {};
}

// A log is durable up to every snapshot, so that one that ends before the last has lost ticks, or
// all. What was between two snapshots cannot be told any more, and must not be made up of what is
// left.
Status Engine::go_on_behind_log(std::optional<std::uint64_t>& latest) {
  for (auto at = snapshots_.rbegin(); at != snapshots_.rend(); ++at) {
    const std::uint64_t tick = at->tick;
    if (latest && *latest >= tick) return {};
    // It is all there will be to stand on. One that is damaged is passed over here and told later.
    const auto snapshot = store_->get(tick);
    if (!snapshot && snapshot.error().code() == ErrorCode::corruption) continue;
    if (!snapshot) return snapshot.error();
    if (log_base_ != tick) {
      const std::string end = latest ? fmt::format("at tick {}", *latest) : "before it begins";
      report_.problems.push_back(corruption(
          fmt::format("{}: the log ends {}, before the snapshot of tick {}; of what was earlier "
                      "only snapshots are left",
                      path_, end, tick)));
      VARVE_TRY(store_->set_log_base(tick));
      log_base_ = tick;
    }
    // The log does not know what is between its end and whatever comes next. With the next tick, in
    // which nothing happened, it goes on right behind the snapshot.
    VARVE_ASSIGN(const Bytes nothing, encode_mutations({}));
    VARVE_TRY(log_->append(tick + 1, nothing));
    VARVE_TRY(log_->sync());
    latest = tick + 1;
    return {};
  }
  return {};
}

// Nothing of it is lost, but the log begins anew: what lies behind the damage cannot go on from
// what lies before it.
Status Engine::set_damage_aside(const Replayed& good) {
  const std::uint64_t tick = *good.tick;
  if (!store_->get(tick)) {
    VARVE_ASSIGN(const Bytes bytes, encode_snapshot(tick, good.state));
    VARVE_ASSIGN(const SnapshotMeta meta, store_->put(tick, bytes, options_.now()));
    std::erase_if(snapshots_, [&](const SnapshotMeta& each) { return each.tick == tick; });
    snapshots_.push_back(meta);
    std::sort(snapshots_.begin(), snapshots_.end(),
              [](const SnapshotMeta& a, const SnapshotMeta& b) { return a.tick < b.tick; });
  }
  VARVE_TRY(store_->set_log_base(tick));
  log_base_ = tick;
  VARVE_TRY(log_->close());
  log_.reset();
  const std::string folder = path_join(path_, kLogFolder);
  std::string aside = fmt::format("{}.damaged-{}", folder, tick);
  for (int number = 2;; ++number) {
    VARVE_ASSIGN(const bool is_taken, vfs_.exists(aside));
    if (!is_taken) break;
    aside = fmt::format("{}.damaged-{}-{}", folder, tick, number);
  }
  VARVE_TRY(vfs_.rename(folder, aside));
  VARVE_TRY(vfs_.sync_dir(path_));
  VARVE_ASSIGN(log_, open_log());
  return {};
}

void Engine::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Status Engine::close() {
  if (is_closed_) return {};
  stop();
  const std::lock_guard lock(log_mutex_);
  is_closed_ = true;
  Status closed = log_->close();
  const Status store_closed = store_->close();
  lock_.reset();
  if (!closed) return closed;
  return store_closed;
}

// --- Ticks ---------------------------------------------------------------------------

Result<ComponentId> Engine::register_component(std::string_view name) {
  return or_out_of_memory([&]() -> Result<ComponentId> {
    const std::lock_guard log_lock(log_mutex_);
    VARVE_TRY(check_open());
    ComponentNames names;
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = names_.id_of(name)) return *known;
      names = names_;
    }
    VARVE_ASSIGN(const ComponentId id, names.add(name));
    // Before a tick can speak of it.
    VARVE_TRY(store_->put_names(names));
    const std::lock_guard lock(mutex_);
    names_ = std::move(names);
    return id;
  });
}

Status Engine::check_components(const TickMutations& mutations) const {
  const auto check = [&](ComponentId id) -> Status {
    if (id == kWholeEntity || names_.contains(id)) return {};
    return invalid_argument(
        fmt::format("component {} has no name in this journal: register it first", id));
  };
  // One look for each run: components come in few kinds.
  ComponentId checked = kWholeEntity;
  const auto check_next = [&](ComponentId id) -> Status {
    if (id == checked) return {};
    checked = id;
    return check(id);
  };
  for (const SpawnMutation& spawn : mutations.spawns) {
    for (const ComponentValue& each : spawn.components) VARVE_TRY(check_next(each.component));
  }
  for (const RemovalMutation& removal : mutations.removals)
    VARVE_TRY(check_next(removal.component));
  for (const InsertMutation& insert : mutations.inserts) VARVE_TRY(check_next(insert.component));
  for (const SingletonMutation& singleton : mutations.singletons)
    VARVE_TRY(check_next(singleton.component));
  return {};
}

Status Engine::log_tick(std::uint64_t tick, const TickMutations& mutations) {
  const std::lock_guard log_lock(log_mutex_);
  VARVE_TRY(check_open());
  if (tick == ~std::uint64_t{0}) return invalid_argument(fmt::format("there is no tick {}", tick));
  if (latest_tick_ && tick <= *latest_tick_) {
    return invalid_argument(
        fmt::format("tick {} comes after tick {}: ticks rise", tick, *latest_tick_));
  }
  VARVE_TRY(check_components(mutations));
  VARVE_TRY(state_.check(mutations));
  VARVE_ASSIGN(const Bytes payload, encode_mutations(mutations));
  VARVE_TRY(log_->append(tick, payload));
  const std::lock_guard lock(mutex_);
  latest_tick_ = tick;
  unsnapped_size_ += payload.size();
  Status applied = state_.apply(mutations);
  if (!applied) is_broken_ = true;
  return applied;
}

std::optional<std::uint64_t> Engine::durable_tick() const {
  const auto of_log = log_->durable_tick();
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> of_snapshots =
      snapshots_.empty() ? std::nullopt : std::optional(snapshots_.back().tick);
  return std::max(of_log, of_snapshots);
}

std::optional<std::uint64_t> Engine::oldest_tick() const {
  const std::lock_guard lock(mutex_);
  if (log_base_) return log_base_;
  const auto first = log_->first_tick();
  return first ? first : latest_tick_;
}

// --- Looking back --------------------------------------------------------------------

History Engine::history() const {
  return {.store = *store_, .log = *log_, .snapshots = snapshots_, .log_base = log_base_};
}

Result<EntityState> Engine::recover(std::uint64_t tick) const {
  return or_out_of_memory([&]() -> Result<EntityState> {
    VARVE_TRY(check_open());
    std::optional<History> from;
    {
      const std::lock_guard lock(mutex_);
      if (!latest_tick_ || tick > *latest_tick_) {
        return invalid_argument(
            latest_tick_
                ? fmt::format("tick {} has not come yet: the latest is {}", tick, *latest_tick_)
                : fmt::format("tick {} has not come yet: there is none", tick));
      }
      if (tick == *latest_tick_) return state_;
      from.emplace(history());
    }
    Replayed replayed;
    VARVE_TRY(replay(*from, tick, replayed));
    return std::move(replayed.state);
  });
}

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
    wake_.wait(lock, [this] { return is_stopping_ || wanted_; });
    if (is_stopping_) return;
    const Wanted wanted = *std::exchange(wanted_, std::nullopt);
    lock.unlock();
    auto made = or_out_of_memory([&] { return make_snapshot(wanted); });
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
  const std::lock_guard log_lock(log_mutex_);
  VARVE_TRY(check_open());
  return log_->truncate_before(base + 1);
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

}  // namespace

Result<std::unique_ptr<StorageEngine>> open_storage(Vfs& vfs, std::string_view path,
                                                    const StorageConfig& config,
                                                    const EngineOptions& options) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<StorageEngine>> {
    auto engine = std::make_unique<Engine>(vfs, path, config, options);
    VARVE_TRY(engine->open());
    return engine;
  });
}

}  // namespace varve::journal

namespace varve {

Result<std::unique_ptr<StorageEngine>> StorageEngine::open(std::string_view path,
                                                           const StorageConfig& config) {
  return journal::open_storage(posix_vfs(), path, config, {});
}

}  // namespace varve
