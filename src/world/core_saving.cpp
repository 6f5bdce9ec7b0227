// Saves as the game thread sees them: cutting off what changed, handing it over, and
// taking in what came of it.
#include <algorithm>
#include <utility>

#include "world/guarded.h"
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
void World::Core::start_waiting_save(std::optional<Clock::time_point> deadline) noexcept {
  while (waiting_save && running_save) {
    if (!running_save->wait_without_starting(deadline)) return;
    collect();
  }
}

void World::Core::finish_saves() {
  while (running_save) {
    running_save->wait_without_starting(std::nullopt);
    collect();
  }
}

std::shared_ptr<SaveHandle::State> World::Core::new_save_state() {
  auto state = std::make_shared<SaveHandle::State>();
  state->starter = weak_from_this();
  return state;
}

Status World::Core::run_before_save() {
  if (!options.before_save || in_before_save) return {};
  in_before_save = true;
  Status ran = guarded(ErrorCode::invalid_argument, "before_save",
                       [&] { return options.before_save(*owner); });
  in_before_save = false;
  return ran;
}

// All of it in constant time: each table hands over its open batch.
Changes World::Core::cut_everything() {
  Changes changes{.chunks = chunks.cut(),
                  .entities = entities.cut(),
                  .players = players.cut(),
                  .globals = globals.cut(),
                  .quarantine = {to_quarantine.begin(), to_quarantine.end()}};
  to_quarantine.clear();
  return changes;
}

void World::Core::start_save(const std::shared_ptr<SaveHandle::State>& state) {
  running_save = state;
  state->started.store(true, std::memory_order_release);
  save_before_cut = state;
  const Status ready = run_before_save();
  save_before_cut = nullptr;
  if (!ready) {
    ++counters.save_failure_count;
    note_error(LogLevel::error, "saving failed before it began", ready.error());
    return save_ended(*state, ready.error());
  }
  const auto begun_at = Clock::now();
  if (dirty_record_count() == 0 && tick_number == stored_tick) {
    // Nothing is new: what is stored is the world as it is.
    return save_ended(*state, SaveReport{.generation = stored_generation, .tick = stored_tick});
  }
  post(SaveKind::whole, cut_everything(), state, begun_at);
}

// A save that needed no saver.
void World::Core::save_ended(SaveHandle::State& state, Result<SaveReport> outcome) {
  running_save = nullptr;
  autosave.restart(outcome.has_value());
  last_save = outcome;
  ended_save = outcome;
  state.finish(std::move(outcome));
}

void World::Core::post(SaveKind kind, Changes changes, std::shared_ptr<SaveHandle::State> state,
                       Clock::time_point begun_at, std::string copy_path,
                       const Format* copy_format) {
  std::list<SaveJob> job(1);
  SaveJob& made = job.front();
  made.outcome.push_back({.kind = kind, .state = std::move(state)});
  made.changes.push_back(std::move(changes));
  made.tick = tick_number;
  made.generator = generator_to_record;
  if (kind == SaveKind::whole && store->capabilities().backups)
    made.backup_count = autosave.config().max_backups;
  made.copy_path = std::move(copy_path);
  made.copy_format = copy_format;
  made.posted_at = Clock::now();
  made.start_time = made.posted_at - begun_at;
  saver->post(std::move(job));
  if (kind != SaveKind::copy) ++commits_in_flight;
  if (kind == SaveKind::whole || kind == SaveKind::copy)
    counters.save_start_us.add(
        std::chrono::duration<double, std::micro>(Clock::now() - begun_at).count());
}

void World::Core::post_part(SaveKind kind, Changes changes) {
  auto state = std::make_shared<SaveHandle::State>();
  state->started = true;
  if (kind == SaveKind::write_through) running_write_through = state;
  if (kind == SaveKind::eviction) eviction_runs = true;
  // What must be kept aside goes with the chunk that replaces it.
  for (const auto& entry : changes.chunks.entries)
    if (to_quarantine.erase(entry.key) != 0) changes.quarantine.push_back(entry.key);
  part_failed = false;
  post(kind, std::move(changes), std::move(state), Clock::now());
}

void World::Core::collect() {
  while (!saves_done.empty()) {
    std::list<SaveOutcome> outcomes = saves_done.take();
    for (SaveOutcome& outcome : outcomes) take_outcome(outcome);
  }
}

void World::Core::take_outcome(SaveOutcome& outcome) {
  const Result<SaveReport> report = *outcome.state->decided();
  const bool whole = outcome.kind == SaveKind::whole;
  const bool copy = outcome.kind == SaveKind::copy;
  chunks.stored(outcome.stored_chunks);
  entities.stored(outcome.stored_entities);
  players.stored(outcome.stored_players);
  globals.stored(outcome.stored_globals);
  for (const ChunkPos& pos : outcome.unsaved) {
    ChunkTable::Slot* slot = chunks.find(pos);
    // A chunk that changed again is dirty anyway.
    if (slot == nullptr || chunks.is_dirty(*slot)) continue;
    chunks.changed_in_place(pos, *slot);
  }
  if (outcome.generator_recorded) generator_to_record.reset();
  if (outcome.kind == SaveKind::write_through) running_write_through = nullptr;
  if (outcome.kind == SaveKind::eviction) {
    eviction_runs = false;
    // A chunk that cannot be saved is not tried every frame.
    eviction_backoff_s =
        outcome.unsaved.empty() ? 0 : next_backoff(eviction_backoff_s, autosave.config());
    eviction_wait_s = eviction_backoff_s;
  }
  if (!copy) --commits_in_flight;

  if (report) {
    counters.bytes_written += report->written_size;
    for (const RecordProblem& problem : report->problems)
      note_error(LogLevel::error, "a record could not be saved and stays dirty: " + problem.key,
                 problem.error);
    if (logger.enabled())
      logger.log(LogLevel::info,
                 copy    ? "saved a copy"
                 : whole ? "saved"
                         : "saved a part",
                 {{"generation", std::to_string(report->generation)},
                  {"tick", std::to_string(report->tick)},
                  {"chunks", std::to_string(report->chunk_count)},
                  {"bytes", std::to_string(report->written_size)}});
  } else {
    ++counters.save_failure_count;
    note_error(LogLevel::error,
               copy ? "a copy could not be saved"
                    : "saving failed; everything stays dirty and is tried again",
               report.error());
  }
  if (!copy) {
    if (report) {
      ++counters.commit_count;
      stored_generation = report->generation;
      stored_tick = report->tick;
      parts_wait_s = parts_backoff_s = 0;
      part_failed = false;
    } else {
      parts_backoff_s = next_backoff(parts_backoff_s, autosave.config());
      parts_wait_s = parts_backoff_s;
      // A save of everything is the game's, or autosave's, to try again, but it may have
      // taken what write-through promised.
      part_failed = part_failed || !whole || options.write_through.enabled;
    }
  }
  if (whole) {
    counters.save_count += report ? 1 : 0;
    last_save = report;
    ended_save = report;
    autosave.restart(report.has_value());
    running_save = nullptr;
  }
  if (report && !copy) {
    forget_erased();
    drop_leaving();
  }
  if (whole && waiting_save) start_save(std::exchange(waiting_save, nullptr));
}

namespace {

template <class Table, class Key, class Fn>
void forget_stored(Table& table, std::vector<Key>& erased, const Fn& forget) {
  std::erase_if(erased, [&](const Key& key) {
    const auto* slot = table.find(key);
    if (slot == nullptr || slot->value) return true;  // it is back
    if (table.is_dirty(*slot)) return false;
    forget(key);
    table.drop(key);
    return true;
  });
}

}  // namespace

void World::Core::forget_erased() {
  forget_stored(chunks, erased_chunks, [&](const ChunkPos& pos) {
    unqueue(pos, *chunks.find(pos));
    if (!loads.empty()) drop_log.note_chunk(pos, stored_generation);
  });
  forget_stored(entities, erased_entities, [&](EntityId id) {
    if (!loads.empty()) drop_log.note_entity(id, stored_generation);
  });
  forget_stored(players, erased_players, [](const std::string&) {});
  forget_stored(globals, erased_globals, [](const std::string&) {});
  std::erase_if(leaving_players, [&](const std::string& id) { return players.drop(id); });
}

}  // namespace varve
