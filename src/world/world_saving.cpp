// The calls of a World about time and saving.
#include <cmath>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "varve/format.h"
#include "world/world_core.h"

namespace varve {
namespace {

// The handle `make` returns, or one of a save that failed at once.
template <class Fn>
SaveHandle handle_of(const Fn& make) {
  Result<SaveHandle> handle = guarded(ErrorCode::io, "saving", make);
  if (handle) return *std::move(handle);
  try {
    auto state = std::make_shared<SaveHandle::State>();
    state->finish(std::move(handle).error());
    return SaveHandle(std::move(state));
  } catch (...) {
    return SaveHandle();  // out of memory, and none left to say so
  }
}

}  // namespace

const UpdateReport& World::update(double dt_s) {
  Core& core = *core_;
  core.report.loaded.clear();
  core.report.failed.clear();
  core.report.evicted.clear();
  core.report.saved.reset();
  // Inside an edit or before a save there is nothing that could be done now.
  if (core.closed || !core.editing.empty() || core.in_before_save) return core.report;
  core.game_thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
  const Status updated = guarded(ErrorCode::io, "update", [&]() -> Status {
    core.collect();
    core.take_loads();
    core.keep_budget();
    core.saves_every_now_and_then(dt_s);
    core.make_spares();
    return {};
  });
  if (!updated) core.note_error(LogLevel::error, "update failed", updated.error());
  core.finish_report();
  return core.report;
}

std::uint64_t World::tick() {
  Core& core = *core_;
  if (core.paused || core.closed || (core.journal && !core.editing.empty())) {
    return core.tick_number;
  }
  core.end_tick();
  const std::uint64_t ended = core.tick_number;
  if (core.journal) core.save_at_boundary();
  return ended;
}
std::uint64_t World::current_tick() const { return core_->tick_number; }

void World::pause() { core_->paused = true; }
void World::resume() { core_->paused = false; }
bool World::is_paused() const { return core_->paused; }

SaveHandle World::save() {
  return handle_of([this] { return core_->begin_save(SaverCall::wake); });
}

Result<SaveReport> World::save_now() {
  return handle_of([this] { return core_->begin_save(SaverCall::let_sleep); }).wait();
}

SaveHandle World::save_to(std::string_view path, std::string_view format) {
  return handle_of([&]() -> Result<SaveHandle> {
    Core& core = *core_;
    if (core.closed) return invalid_argument("the world is closed");
    VARVE_TRY(core.check_not_editing("save_to()"));
    if (path.empty()) return invalid_argument("save_to: the path is empty");
    core.collect();
    VARVE_ASSIGN(const Format* target,
                 find_format(format.empty() ? core.store->capabilities().format : format));
    VARVE_TRY(core.run_before_save());
    if (!core.is_at_boundary()) core.end_tick();
    const auto begun_at = SaveHandle::State::Clock::now();
    const auto state = core.new_save_state();
    state->is_hurried = false;
    std::list<SaveJob> job = core.new_job(SaveKind::copy, state);
    job.front().copy_path = path;
    job.front().copy_format = target;
    core.cut_everything(job.front().changes.front());
    core.post(std::move(job), begun_at);
    return SaveHandle(state);
  });
}

SaveHandle World::back_up(std::string_view path, const BackupOptions& options) {
  return handle_of([&]() -> Result<SaveHandle> {
    Core& core = *core_;
    if (core.closed) return invalid_argument("the world is closed");
    VARVE_TRY(core.check_not_editing("back_up()"));
    core.collect();
    const auto begun_at = SaveHandle::State::Clock::now();
    const auto state = core.new_save_state();
    state->is_hurried = false;
    std::list<SaveJob> job = core.new_job(SaveKind::copy, state);
    job.front().copy_path = path;
    job.front().backup = options;
    core.post(std::move(job), begun_at);
    return SaveHandle(state);
  });
}

SaveHandle World::player_left(std::string_view id) {
  return handle_of([&]() -> Result<SaveHandle> {
    Core& core = *core_;
    if (core.closed) return invalid_argument("the world is closed");
    VARVE_TRY(core.check_not_editing("player_left()"));
    core.collect();
    const std::string key(id);
    const NamedTable::Slot* slot = core.players.find(key);
    const auto state = core.new_save_state();
    if (slot == nullptr || !core.players.is_dirty(*slot)) {
      core.players.drop(key);
      state->finish(SaveReport{.generation = core.stored_generation, .tick = core.stored_tick});
      return SaveHandle(state);
    }
    core.leaving_players.push_back(key);
    if (core.is_at_boundary()) {
      core.save_leaver(key, state);
    } else {
      core.leavers_in_tick.emplace_back(key, state);
    }
    return SaveHandle(state);
  });
}

bool World::is_saving() const {
  core_->collect();
  return core_->running_save || core_->waiting_save;
}
SaveHandle World::current_save() const {
  core_->collect();
  return SaveHandle(core_->running_save);
}
std::optional<Result<SaveReport>> World::last_save() const {
  core_->collect();
  return or_out_of_memory([&] { return core_->last_save; });
}

Status World::set_autosave(const AutosaveConfig& config) {
  VARVE_TRY(check_autosave(config, core_->store->capabilities()));
  core_->autosave.set(config);
  core_->has_chosen_backups = true;
  return {};
}
AutosaveConfig World::autosave() const { return core_->autosave.config(); }

Status check_write_through(const WriteThroughConfig& config) {
  if (config.async_save_queue_size == 0)
    return invalid_argument("write-through: async_save_queue_size must be at least 1");
  return {};
}

Status World::set_write_through(const WriteThroughConfig& config) {
  Core& core = *core_;
  VARVE_TRY(check_write_through(config));
  if (config.enabled && core.journal) {
    return invalid_argument(
        "write-through: this world has a journal, which makes every tick durable; parts of ticks "
        "are not saved");
  }
  core.options.write_through = config;
  return {};
}

Status check_timed_saves(const TimedSaveConfig& config) {
  for (const double seconds : {config.players_s, config.globals_s})
    if (!(seconds >= 0) || !std::isfinite(seconds))
      return invalid_argument("timed saves: times are seconds, or 0 for none");
  return {};
}

Status World::set_timed_saves(const TimedSaveConfig& config) {
  VARVE_TRY(check_timed_saves(config));
  core_->options.timed_saves = config;
  return {};
}

void World::set_memory_budget(std::size_t size) { core_->options.memory_budget_size = size; }

Telemetry World::telemetry() {
  Core& core = *core_;
  core.collect();
  Telemetry now = core.counters;
  now.encode_count = core.saver ? core.saver->encode_count() : now.encode_count;
  now.dirty_chunk_count = core.chunks.dirty_count();
  now.dirty_record_count = core.dirty_record_count();
  now.queue_count = core.write_through_queue.size();
  now.resident_chunk_count = core.resident_count;
  now.resident_size = core.resident_size;
  now.loads_in_flight = core.loads.size();
  return now;
}

}  // namespace varve
