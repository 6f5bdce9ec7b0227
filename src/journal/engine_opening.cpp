#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "backend/log/log_backend.h"
#include "io/durable_folder.h"
#include "io/path.h"
#include "journal/engine_parts.h"
#include "journal/log_compression.h"

namespace varve::journal {
namespace {

constexpr std::string_view kLogFolder = "log";
constexpr std::string_view kSnapshotFolder = "snapshots";

}  // namespace

Status Engine::open() {
  VARVE_TRY(make_durable_folder(vfs_, path_));
  VARVE_ASSIGN(lock_, vfs_.lock_writer(path_join(path_, "lock")));
  VARVE_TRY(open_parts());
  VARVE_TRY(load_state());
  // Before anything is logged: what is indexed of ticks that are given up must not be taken for
  // what comes now.
  VARVE_ASSIGN(index_, HistoryIndex::open(store_->backend(), *log_, options_.stretch_ticks));
  indexed_tick_ = latest_tick_.value_or(0);
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
  VARVE_TRY(rename_aside(vfs_, folder, fmt::format(".damaged-{}", tick)));
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

}  // namespace varve::journal
