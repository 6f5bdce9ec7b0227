// Saves nobody asked for: autosave, timed saves and write-through.
#include <algorithm>
#include <utility>

#include "world/world_core.h"

namespace varve {

// Everything that is saved without the game asking for it.
void World::Core::saves_every_now_and_then(double dt_s) {
  // Without its journal the world is only as safe as its last save, and parts wait for one.
  if (journal && !has_saved_since_given_up && journal->is_given_up()) {
    has_saved_since_given_up = true;
    if (!waiting_save) waiting_save = new_save_state();
    collect();
  }
  if (autosave.advance(dt_s) && !running_save && !waiting_save) {
    if (dirty_record_count() != 0 || options.before_save) {
      waiting_save = new_save_state();
      collect();  // which starts it, if a tick has just ended
    } else {
      autosave.restart(true);
    }
  }
  if (dt_s > 0) {
    players_elapsed_s += dt_s;
    globals_elapsed_s += dt_s;
    parts_wait_s = std::max(0.0, parts_wait_s - dt_s);
    eviction_wait_s = std::max(0.0, eviction_wait_s - dt_s);
  }
  save_parts();
}

void World::Core::save_parts() {
  parts_wait_for_tick = !is_at_boundary();
  if (parts_wait_for_tick || parts_wait_s > 0) return;
  save_timed_records();
  flush_write_through();
  save_leaving();
}

void World::Core::save_timed_records() {
  const auto is_due = [](double& elapsed_s, double every_s) {
    if (every_s == 0 || elapsed_s < every_s) return false;
    elapsed_s = 0;
    return true;
  };
  const bool players_due = is_due(players_elapsed_s, options.timed_saves.players_s);
  const bool globals_due = is_due(globals_elapsed_s, options.timed_saves.globals_s);
  // What failed before, or what a copy took along, is to be saved although nothing is new.
  const bool carried = part_failed || (players_due && players.dirty_count() != 0) ||
                       (globals_due && globals.dirty_count() != 0);
  if (!carried) return;
  std::list<SaveJob> job = new_part(SaveKind::timed);
  Changes& timed = job.front().changes.front();
  if (players_due) players.prepare_cut(timed.players);
  if (globals_due) globals.prepare_cut(timed.globals);
  if (players_due) players.finish_cut(timed.players);
  if (globals_due) globals.finish_cut(timed.globals);
  // What is not new is on its way already, unless no commit is.
  if (timed.any_entries() || commits_in_flight == 0) post_part(std::move(job));
}

void World::Core::queue_write_through(const ChunkPos& pos, ChunkTable::Slot& slot) {
  if (slot.extra.queued) {
    ++counters.queue_coalesced_count;
    return;
  }
  const WriteThroughConfig& config = options.write_through;
  if (write_through_queue.size() >= config.async_save_queue_size) {
    ++counters.queue_full_count;
    // While the disk fails nobody waits for it; inside an edit nothing can be cut.
    if (config.when_full == WriteThroughConfig::WhenFull::leave_dirty || parts_wait_s > 0 ||
        !editing.empty())
      return;
    if (running_write_through) {
      const SaveWaiter waiter(saver->helper());
      running_write_through->wait_without_starting(std::nullopt);
      collect();
    }
    flush_write_through();
    if (write_through_queue.size() >= config.async_save_queue_size) return;
  }
  write_through_queue.push_back(pos);
  slot.extra.queued = true;
}

// One commit of it at a time: what is edited meanwhile comes together in the queue.
void World::Core::flush_write_through() {
  if (write_through_queue.empty() || running_write_through || parts_wait_s > 0) return;
  std::list<SaveJob> job = new_part(SaveKind::write_through);
  Changes& changes = job.front().changes.front();
  bool any_dirty = false;
  for (const ChunkPos& pos : write_through_queue) {
    ChunkTable::Slot* slot = chunks.find(pos);
    if (slot == nullptr) continue;
    slot->extra.queued = false;
    any_dirty |= chunks.is_dirty(*slot);
  }
  chunks.cut_some(write_through_queue, changes.chunks);
  write_through_queue.clear();
  // A save may have taken them all, or a copy, which stores nothing here.
  if (changes.any_entries() || (any_dirty && commits_in_flight == 0)) post_part(std::move(job));
}

// For a slot that is about to go: its place in the queue is free.
void World::Core::unqueue(const ChunkPos& pos, ChunkTable::Slot& slot) {
  if (std::exchange(slot.extra.queued, false)) std::erase(write_through_queue, pos);
}

}  // namespace varve
