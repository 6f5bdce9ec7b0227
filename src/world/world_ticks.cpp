// Ticks of a world with a journal, and its past.
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/world_history.h"
#include "world/world_core.h"

namespace varve {
namespace {

Error no_journal(const char* what) {
  return invalid_argument(std::string(what) +
                          ": the world has no journal; open it with WorldOptions::journal");
}

}  // namespace

void World::Core::end_tick() noexcept {
  ++tick_number;
  if (!journal) return;
  journal->hand_over(tick_number, [this](const ChunkPos& pos) {
    const ChunkTable::Slot* slot = chunks.find(pos);
    return slot != nullptr && slot->value ? *slot->value : ChunkRef();
  });
}

void World::Core::save_at_boundary() {
  // Before a save whose hook may begin the next tick.
  for (auto& [key, state] : std::exchange(leavers_in_tick, {})) save_leaver(key, state);
  if (waiting_save && !running_save) collect();
  if (!parts_wait_for_tick) return;
  const Status saved = guarded(ErrorCode::io, "saving parts", [&]() -> Status {
    save_parts();
    return {};
  });
  if (!saved) note_error(LogLevel::error, "parts could not be saved for now", saved.error());
}

void World::Core::save_leaver(const std::string& key,
                              const std::shared_ptr<SaveHandle::State>& state) noexcept {
  Status begun = guarded(ErrorCode::io, "saving a player who left", [&]() -> Status {
    std::list<SaveJob> job = new_job(SaveKind::timed, state);
    // If a save took it already, this one has nothing new and ends after that one.
    players.cut_some(std::span(&key, 1), job.front().changes.front().players);
    post(std::move(job), SaveHandle::State::Clock::now());
    return {};
  });
  if (!begun) state->finish(std::move(begun).error());
}

Status World::Core::close_journal() {
  if (!journal) return {};
  Status closed = journal->close();
  journal.reset();
  return closed;
}

Status World::set_author(std::string_view name) {
  Core& core = *core_;
  if (!core.journal) return no_journal("set_author()");
  if (!name.empty()) VARVE_TRY(check_name(name));
  return or_out_of_memory([&]() -> Status {
    core.journal->notes().set_author(name);
    return {};
  });
}

std::uint64_t World::durable_tick() const {
  return core_->journal ? core_->journal->durable_tick() : core_->stored_tick;
}

Status World::make_durable() {
  Core& core = *core_;
  if (!core.journal) return no_journal("make_durable()");
  VARVE_ASSIGN(const bool is_durable, core.journal->make_durable(core.tick_number));
  if (is_durable) return {};
  return io_error("the journal was given up: save() instead");
}

Result<std::unique_ptr<WorldHistory>> World::history() {
  Core& core = *core_;
  if (core.closed) return invalid_argument("the world is closed");
  if (!core.journal) return no_journal("history()");
  VARVE_ASSIGN(const bool is_logged, core.journal->wait_logged(core.tick_number));
  if (!is_logged) return io_error("the journal was given up, and its past ends before this tick");
  return or_out_of_memory([&]() -> Result<std::unique_ptr<WorldHistory>> {
    return journal::make_world_history({.journal = core.journal->folder(),
                                        .store = *core.store,
                                        .chunk_type = core.options.chunk_type,
                                        .generator = core.options.generator});
  });
}

Result<std::uint64_t> World::roll_back(const RollbackPlan& plan) {
  Core& core = *core_;
  VARVE_TRY(core.check_writable());
  VARVE_TRY(core.check_not_editing("roll_back()"));
  if (!core.is_at_boundary()) core.end_tick();
  for (const ChunkEdit& edit : plan.edits) {
    VARVE_TRY(load_now(edit.pos));
    VARVE_TRY(this->edit(edit.pos, edit.edit));
  }
  for (const ChunkChange& change : plan.chunks) {
    if (!change.payload) {
      VARVE_TRY(erase(change.pos));
      continue;
    }
    VARVE_ASSIGN(std::unique_ptr<Chunk> chunk,
                 guarded(
                     ErrorCode::corruption, [&] { return "decoding " + to_string(change.pos); },
                     [&] { return core.options.chunk_type->decode(change.pos, *change.payload); }));
    VARVE_TRY(put(change.pos, std::move(chunk)));
  }
  for (const EntityChange& change : plan.entities) {
    if (change.value) {
      VARVE_TRY(
          put_entity({.id = change.id, .owner = change.value->owner, .data = change.value->data}));
    } else {
      VARVE_TRY(erase_entity(change.id));
    }
  }
  for (const NamedChange& change : plan.players) {
    VARVE_TRY(core.change_named(RecordKind::player, change.name, change.data));
  }
  for (const NamedChange& change : plan.globals) {
    VARVE_TRY(core.change_named(RecordKind::global, change.name, change.data));
  }
  return tick();
}

}  // namespace varve
