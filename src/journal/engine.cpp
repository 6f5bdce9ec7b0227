#include "journal/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "journal/engine_parts.h"

namespace varve::journal {

Status Engine::check_open() const {
  if (is_closed_) return invalid_argument(fmt::format("{}: the journal is closed", path_));
  if (is_broken_) {
    return io_error(fmt::format("{}: memory ran out in the midst of a tick; open it again", path_));
  }
  return {};
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
    {
      const std::lock_guard lock(mutex_);
      if (latest_tick_ == tick) return state_;
    }
    VARVE_ASSIGN(const History from, history_at(tick));
    Replayed replayed;
    VARVE_TRY(replay(from, tick, replayed));
    count_decoded(replayed.entry_count);
    return std::move(replayed.state);
  });
}

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
