// Saves as the game thread sees them: cutting off what changed, handing it over, and
// taking in what came of it.
#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "world/world_core.h"

namespace varve {
namespace {

// Twice as long each time, from the time chosen for autosave up to a minute.
double next_backoff(double before_s, const AutosaveConfig& config) {
  return std::clamp(2 * before_s, config.retry_s, std::max(config.retry_s, 60.0));
}

}  // namespace

using Clock = SaveHandle::State::Clock;

bool World::Core::on_game_thread() const noexcept {
  return game_thread.load() == std::this_thread::get_id();
}

// For a handle that is waited for on the game thread: nobody else could start its save.
bool World::Core::start_waiting_save(const SaveHandle::State& state,
                                     std::optional<Clock::time_point> deadline) noexcept {
  // Neither inside its own hook nor inside an edit can it ever be cut.
  if (save_before_cut.get() == &state || !editing.empty()) return false;
  while (waiting_save.get() == &state && running_save) {
    if (!running_save->wait_without_starting(deadline)) return true;
    collect();
  }
  // Nobody ends the tick while the game waits.
  const bool waits = waiting_save.get() == &state ||
                     std::any_of(leavers_in_tick.begin(), leavers_in_tick.end(),
                                 [&](const auto& leaver) { return leaver.second.get() == &state; });
  if (!waits) return true;
  if (in_before_save) return false;
  if (!is_at_boundary()) end_tick();
  save_at_boundary();
  return true;
}

void World::Core::finish_saves() {
  collect();
  // What was asked for in the midst of a tick begins with its end, which nobody else brings about.
  if ((waiting_save || !leavers_in_tick.empty()) && editing.empty() && !in_before_save) {
    if (!is_at_boundary()) end_tick();
    save_at_boundary();
  }
  while (running_save) {
    running_save->wait_without_starting(std::nullopt);
    collect();
  }
}

std::shared_ptr<SaveHandle::State> World::Core::new_save_state() {
  if (spare_state) return std::exchange(spare_state, nullptr);
  auto state = std::make_shared<SaveHandle::State>();
  state->starter = weak_from_this();
  state->helper = saver->helper();
  return state;
}

void World::Core::make_spares() noexcept {
  // Whoever finds none makes its own.
  (void)or_out_of_memory([&]() -> Status {
    if (!spare_state) spare_state = new_save_state();
    if (spare_job.empty()) spare_job = empty_job();
    return {};
  });
}

Status World::Core::run_before_save() {
  if (!options.before_save || in_before_save) return {};
  in_before_save = true;
  Status ran = guarded(ErrorCode::invalid_argument, "before_save",
                       [&] { return options.before_save(*owner); });
  in_before_save = false;
  return ran;
}

std::list<SaveJob> World::Core::empty_job() {
  std::list<SaveJob> job(1);
  job.front().outcome.emplace_back();
  job.front().changes.emplace_back();
  return job;
}

// Everything a job needs but the changes. Made before they are cut, since what is cut must
// not be lost for lack of memory.
std::list<SaveJob> World::Core::new_job(SaveKind kind, std::shared_ptr<SaveHandle::State> state) {
  std::list<SaveJob> job = std::exchange(spare_job, {});
  if (job.empty()) job = empty_job();
  SaveJob& made = job.front();
  state->started.store(true, std::memory_order_release);
  made.outcome.front().kind = kind;
  made.outcome.front().state = std::move(state);
  made.changes.front().quarantine.reserve(to_quarantine.size());
  made.tick = tick_number;
  made.generator = generator_to_record;
  // A game that says nothing of backups does not mean to lose those that somebody made.
  const std::uint32_t backup_count = autosave.config().max_backups;
  if (kind == SaveKind::whole && store->capabilities().backups &&
      (has_chosen_backups || backup_count != 0))
    made.backup_count = backup_count;
  return job;
}

std::list<SaveJob> World::Core::new_part(SaveKind kind) {
  return new_job(kind, std::make_shared<SaveHandle::State>());
}

// All of it in constant time: each table hands over its open batch.
void World::Core::cut_everything(Changes& changes) {
  chunks.prepare_cut(changes.chunks);
  entities.prepare_cut(changes.entities);
  players.prepare_cut(changes.players);
  globals.prepare_cut(changes.globals);
  chunks.finish_cut(changes.chunks);
  entities.finish_cut(changes.entities);
  players.finish_cut(changes.players);
  globals.finish_cut(changes.globals);
  changes.quarantine.assign(to_quarantine.begin(), to_quarantine.end());  // has room for them
  to_quarantine.clear();
}

Result<SaveHandle> World::Core::begin_save(SaverCall call) {
  if (closed) return invalid_argument("the world is closed");
  VARVE_TRY(check_not_editing(call == SaverCall::wake ? "save()" : "save_now()"));
  game_thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
  collect();
  // The hook of a save that is about to be cut: what it changes is in that one.
  if (save_before_cut) return SaveHandle(save_before_cut);
  if (running_save || !is_at_boundary()) {
    if (!waiting_save) waiting_save = new_save_state();
    return SaveHandle(waiting_save);
  }
  const auto state = new_save_state();
  start_save(state, call);
  return SaveHandle(state);
}

void World::Core::start_save(const std::shared_ptr<SaveHandle::State>& state, SaverCall call) {
  save_before_cut = state;
  const Status ready = guarded(ErrorCode::io, "saving", [&]() -> Status {
    VARVE_TRY(run_before_save());
    if (!is_at_boundary()) end_tick();
    const auto begun_at = Clock::now();
    if (dirty_record_count() == 0 && tick_number == stored_tick) {
      // Nothing is new: what is stored is the world as it is.
      save_ended(*state, SaveReport{.generation = stored_generation, .tick = stored_tick});
      return {};
    }
    std::list<SaveJob> job = new_job(SaveKind::whole, state);
    cut_everything(job.front().changes.front());
    running_save = state;
    post(std::move(job), begun_at, call);
    return {};
  });
  save_before_cut = nullptr;
  if (ready) return;
  ++counters.save_failure_count;
  note_error(LogLevel::error, "saving failed before it began", ready.error());
  save_ended(*state, ready.error());
}

// A save that needed no saver.
void World::Core::save_ended(SaveHandle::State& state, Result<SaveReport> outcome) {
  autosave.restart(outcome.has_value());
  last_save = outcome;
  ended_save = outcome;
  state.finish(std::move(outcome));
}

void World::Core::post(std::list<SaveJob> job, Clock::time_point begun_at,
                       SaverCall call) noexcept {
  SaveJob& made = job.front();
  const SaveKind kind = made.kind();
  made.posted_at = Clock::now();
  made.start_time = made.posted_at - begun_at;
  saver->post(std::move(job), call);
  if (kind != SaveKind::copy) ++commits_in_flight;
  if (kind == SaveKind::whole || kind == SaveKind::copy)
    counters.save_start_us.add(
        std::chrono::duration<double, std::micro>(Clock::now() - begun_at).count());
}

void World::Core::post_part(std::list<SaveJob> job) noexcept {
  SaveJob& part = job.front();
  if (part.kind() == SaveKind::write_through) running_write_through = part.outcome.front().state;
  if (part.kind() == SaveKind::eviction) eviction_runs = true;
  // What must be kept aside goes with the chunk that replaces it. There is room for it.
  Changes& changes = part.changes.front();
  if (!to_quarantine.empty())
    for (const auto& entry : changes.chunks.entries)
      if (to_quarantine.erase(entry.key) != 0) changes.quarantine.push_back(entry.key);
  part_failed = false;
  post(std::move(job), Clock::now());
}

void World::Core::collect() {
  while (!saves_done.empty()) {
    std::list<SaveOutcome> outcomes = saves_done.take();
    while (!outcomes.empty()) {
      const SaveOutcome outcome = std::move(outcomes.front());
      outcomes.pop_front();
      // What was stored counts even if there is no memory to talk about it.
      const Status taken = guarded(ErrorCode::io, "taking in a save", [&]() -> Status {
        take_outcome(outcome);
        return {};
      });
      if (!taken) counters.last_error = taken.error();
      tell_outcome(outcome);
    }
  }
  if (!running_save && waiting_save && editing.empty() && !in_before_save && is_at_boundary())
    start_save(std::exchange(waiting_save, nullptr));
}

// What a save's end changes. What cannot fail comes first.
void World::Core::take_outcome(const SaveOutcome& outcome) {
  const bool whole = outcome.kind == SaveKind::whole;
  if (outcome.kind != SaveKind::copy) --commits_in_flight;
  if (whole) running_save = nullptr;
  if (outcome.kind == SaveKind::write_through) running_write_through = nullptr;
  if (outcome.kind == SaveKind::eviction) {
    eviction_runs = false;
    // A chunk that cannot be saved is not tried every frame.
    eviction_backoff_s =
        outcome.unsaved.empty() ? 0 : next_backoff(eviction_backoff_s, autosave.config());
    eviction_wait_s = eviction_backoff_s;
  }
  if (whole) autosave.restart(outcome.succeeded);
  if (outcome.kind == SaveKind::copy) return;
  if (!outcome.succeeded) {
    parts_backoff_s = next_backoff(parts_backoff_s, autosave.config());
    parts_wait_s = parts_backoff_s;
    // A save of everything is the game's, or autosave's, to try again, but it may have
    // taken what write-through promised.
    part_failed = part_failed || !whole || options.write_through.enabled;
    return;
  }
  // A hook may take in a later outcome before an earlier one.
  stored_generation = std::max(stored_generation, outcome.generation);
  stored_tick = std::max(stored_tick, outcome.tick);
  if (journal) journal->stored(stored_tick);
  parts_wait_s = parts_backoff_s = 0;
  part_failed = false;
  if (outcome.generator_recorded) generator_to_record.reset();
  chunks.stored(outcome.stored_chunks);
  entities.stored(outcome.stored_entities);
  players.stored(outcome.stored_players);
  globals.stored(outcome.stored_globals);
  for (const ChunkPos& pos : outcome.unsaved) {
    ChunkTable::Slot* slot = chunks.find(pos);
    // A chunk that changed again is dirty anyway.
    if (slot != nullptr && !chunks.is_dirty(*slot)) chunks.changed_in_place(pos, *slot);
  }
  forget_erased(outcome);
  drop_leaving();
}

// Figures, the log, and what the game will read.
void World::Core::tell_outcome(const SaveOutcome& outcome) noexcept {
  try {
    const Result<SaveReport> report = *outcome.state->decided();
    const bool whole = outcome.kind == SaveKind::whole;
    const bool copy = outcome.kind == SaveKind::copy;
    if (whole) last_save = ended_save = report;
    if (!report) {
      ++counters.save_failure_count;
      note_error(LogLevel::error,
                 copy ? "a copy could not be saved" : "saving failed; everything stays dirty",
                 report.error());
      return;
    }
    counters.commit_count += copy ? 0 : 1;
    counters.save_count += whole ? 1 : 0;
    counters.bytes_written += report->written_size;
    for (const RecordProblem& problem : report->problems)
      note_error(LogLevel::error, "a record could not be saved: " + problem.key, problem.error);
    if (report->backup_error) {
      note_error(LogLevel::error, "no backup was kept beside a save", *report->backup_error);
    }
    if (logger.enabled())
      logger.log(LogLevel::info,
                 copy    ? "saved a copy"
                 : whole ? "saved"
                         : "saved a part",
                 {{"generation", std::to_string(report->generation)},
                  {"tick", std::to_string(report->tick)},
                  {"chunks", std::to_string(report->chunk_count)},
                  {"bytes", std::to_string(report->written_size)}});
  } catch (...) {
    // Out of memory: nothing but words is lost.
  }
}

namespace {

// Records whose erasure is stored are not there any more, for the table either.
template <class Table, class Key, class Fn>
void forget_stored(Table& table, const std::vector<Key>& erased, const Fn& forget) {
  for (const Key& key : erased) {
    const auto* slot = table.find(key);
    if (slot == nullptr || slot->value || table.is_dirty(*slot)) continue;  // it is back
    forget(key);
    table.drop(key);
  }
}

}  // namespace

void World::Core::forget_erased(const SaveOutcome& outcome) {
  forget_stored(chunks, outcome.erased_chunks, [&](const ChunkPos& pos) {
    unqueue(pos, *chunks.find(pos));
    if (!loads.empty()) drop_log.note_chunk(pos, stored_generation);
  });
  forget_stored(entities, outcome.erased_entities, [&](EntityId id) {
    if (!loads.empty()) drop_log.note_entity(id, stored_generation);
  });
  forget_stored(players, outcome.erased_players, [](const std::string&) {});
  forget_stored(globals, outcome.erased_globals, [](const std::string&) {});
  std::erase_if(leaving_players, [&](const std::string& id) { return players.drop(id); });
}

}  // namespace varve
