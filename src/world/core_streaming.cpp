// Which chunks are in memory: loading, windows, eviction, the memory budget.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/guarded.h"
#include "world/window_boxes.h"
#include "world/world_core.h"

namespace varve {

bool World::Core::is_here(const ChunkPos& pos) {
  const ChunkTable::Slot* slot = chunks.find(pos);
  return slot != nullptr && slot->value &&
         (slot->extra.has_entities || !store->capabilities().entities);
}

void World::Core::want(const ChunkPos& pos, int priority) {
  leaving.erase(pos);
  if (is_here(pos)) return;
  const auto pending = loads.find(pos);
  if (pending == loads.end()) return request_load(pos, priority);
  if (priority <= pending->second.priority) return;
  pending->second.priority = priority;
  loader->raise(pos, priority);
}

void World::Core::request_load(const ChunkPos& pos, int priority) {
  const ChunkTable::Slot* slot = chunks.find(pos);
  const LoadKind kind = slot == nullptr ? LoadKind::stored
                        : slot->value   ? LoadKind::entities
                                        : LoadKind::erased;
  const std::uint64_t ticket = next_ticket++;
  loads[pos] = {
      .ticket = ticket, .generation = stored_generation, .priority = priority, .kind = kind};
  loader->request(pos, ticket, priority, kind);
}

void World::Core::take_loads() {
  for (const ChunkPos& pos : here_already)
    if (const ChunkTable::Slot* slot = chunks.find(pos); slot != nullptr && slot->value)
      report.loaded.push_back(pos);
  here_already.clear();
  if (loads_done.empty()) return;
  std::list<LoadOutcome> outcomes = loads_done.take();
  for (LoadOutcome& outcome : outcomes) take_load(outcome);
  if (drop_log.size() != 0) trim_drop_log();
}

void World::Core::take_load(LoadOutcome& outcome) {
  const auto pending = loads.find(outcome.pos);
  if (pending == loads.end() || pending->second.ticket != outcome.ticket) return;
  const int priority = pending->second.priority;
  const LoadKind kind = pending->second.kind;
  const ChunkTable::Slot* slot = chunks.find(outcome.pos);
  // Older than what the store has by now, or read before an erasure that is on its way.
  bool outdated = drop_log.outdates_chunk(outcome.pos, outcome.generation);
  const bool erased = slot != nullptr && !slot->value;
  outdated |= kind == LoadKind::stored && erased && !(outcome.loaded && outcome.loaded->generated);
  outdated |= kind == LoadKind::entities && (slot == nullptr || erased);
  if (outcome.loaded) {
    for (const Entity& entity : outcome.loaded->entities)
      outdated |= drop_log.outdates_entity(entity.id, outcome.generation);
  }
  loads.erase(pending);
  if (outdated) return request_load(outcome.pos, priority);
  // Put by the game meanwhile: all that is wanted of the store is its entities.
  if (!outcome.loaded && kind == LoadKind::stored && slot != nullptr && slot->value &&
      outcome.loaded.error().code() != ErrorCode::corruption)
    return request_load(outcome.pos, priority);
  if (!outcome.loaded) {
    const Error& error = outcome.loaded.error();
    ++counters.load_failure_count;
    if (error.code() == ErrorCode::corruption && kind == LoadKind::stored) {
      // Replaced meanwhile: then its bytes are kept aside, and there is nothing to repair.
      if (slot == nullptr) damaged.insert(outcome.pos);
      if (slot != nullptr && chunks.is_dirty(*slot)) to_quarantine.insert(outcome.pos);
    }
    note_error(LogLevel::error, "a chunk could not be loaded: " + to_string(outcome.pos), error);
    report.failed.push_back({.pos = outcome.pos, .error = error});
    return;
  }
  ++counters.load_count;
  // The chunk is there and its entities are not: both are said.
  if (outcome.loaded->entities_error)
    report.failed.push_back({.pos = outcome.pos, .error = *outcome.loaded->entities_error});
  take_in(outcome.pos, *std::move(outcome.loaded));
  report.loaded.push_back(outcome.pos);
}

// What no load that is under way can be older than, is no danger any more.
void World::Core::trim_drop_log() {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  if (!loads.empty()) {
    if (drop_log.size() < 1024) return;
    for (const auto& [pos, load] : loads) oldest = std::min(oldest, load.generation);
  }
  drop_log.forget_until(oldest);
}

bool World::Core::is_kept(const ChunkPos& pos) const noexcept {
  return std::any_of(windows.begin(), windows.end(),
                     [&](const auto& item) { return item.second.keep_box.contains(pos); });
}

void World::Core::leave(const ChunkPos& pos) {
  if (loads.erase(pos) != 0) loader->cancel(pos);
  if (chunks.find(pos) == nullptr && !entities_by_owner.contains(pos)) return;
  if (!try_drop(pos)) leaving_grew |= leaving.insert(pos).second;
}

// Drops a chunk and its entities, if nothing of it is dirty.
bool World::Core::try_drop(const ChunkPos& pos) {
  ChunkTable::Slot* slot = chunks.find(pos);
  if (slot != nullptr && chunks.is_dirty(*slot)) return false;
  const auto owned = entities_by_owner.find(pos);
  if (owned != entities_by_owner.end()) {
    for (const EntityId id : owned->second)
      if (entities.is_dirty(*entities.find(id))) return false;
    for (const EntityId id : owned->second) {
      if (entities.find(id)->batch != 0 && !loads.empty()) {
        drop_log.note_entity(id, stored_generation);
        drop_log.note_chunk(pos, stored_generation);
      }
      entities.drop(id);
    }
    entities_by_owner.erase(owned);
  }
  if (slot != nullptr && slot->value) {
    if (slot->batch != 0 && !loads.empty()) drop_log.note_chunk(pos, stored_generation);
    dropped.push_back(pos);
    unqueue(pos, *slot);
    slot->value.reset();
    account(*slot);
    chunks.drop(pos);
    ++counters.evicted_count;
  }
  return true;
}

void World::Core::drop_leaving() {
  std::erase_if(leaving, [&](const ChunkPos& pos) { return try_drop(pos); });
}

// What is dirty and wants to leave goes to the store first, one commit at a time.
void World::Core::save_leaving() {
  if (leaving.empty() || eviction_runs || parts_wait_s > 0 || eviction_wait_s > 0) return;
  // Nothing new since the last look, and what was seen then is on its way.
  if (!std::exchange(leaving_grew, false) && commits_in_flight != 0) return;
  drop_leaving();
  if (leaving.empty()) return;
  const std::vector<ChunkPos> positions(leaving.begin(), leaving.end());
  std::vector<EntityId> owned;
  for (const ChunkPos& pos : positions)
    if (const auto found = entities_by_owner.find(pos); found != entities_by_owner.end())
      owned.insert(owned.end(), found->second.begin(), found->second.end());
  std::list<SaveJob> job = new_part(SaveKind::eviction);
  Changes& changes = job.front().changes.front();
  entities.cut_some(owned, changes.entities);
  // Without the memory for it, what is cut already goes its way and the rest next time.
  const Status cut = guarded(ErrorCode::io, "evicting", [&]() -> Status {
    chunks.cut_some(positions, changes.chunks);
    return {};
  });
  if (!cut) note_error(LogLevel::error, "evicting failed for now", cut.error());
  // What is not new is on its way already, unless a save failed or a copy took it.
  if (changes.any_entries() || commits_in_flight == 0) post_part(std::move(job));
}

// A hand goes round over all chunks. What was used since it came by last is spared once;
// so those go first that were not used for long.
void World::Core::keep_budget() {
  if (options.memory_budget_size == 0 || resident_size <= options.memory_budget_size) return;
  constexpr std::size_t kBucketsPerFrame = 1024;
  std::vector<ChunkPos> victims;
  std::size_t freed = 0;
  std::size_t excess = resident_size - options.memory_budget_size;
  // What is about to go makes room too.
  for (const ChunkPos& pos : leaving)
    if (const ChunkTable::Slot* slot = chunks.find(pos))
      excess -= std::min(excess, slot->extra.memory_size);
  for (std::size_t step = 0; step < kBucketsPerFrame && freed < excess; ++step) {
    chunks.map().visit_bucket(budget_hand, [&](const ChunkPos& pos, ChunkTable::Slot& slot) {
      if (std::exchange(slot.extra.used, false) || !slot.value || leaving.contains(pos) ||
          is_kept(pos))
        return;
      victims.push_back(pos);
      freed += slot.extra.memory_size;
    });
  }
  for (const ChunkPos& pos : victims) leave(pos);
}

// A report is about now: what came and went, or went and came back, is in it once.
void World::Core::finish_report() {
  const auto is_in_memory = [&](const ChunkPos& pos) {
    const ChunkTable::Slot* slot = chunks.find(pos);
    return slot != nullptr && slot->value.has_value();
  };
  std::erase_if(report.loaded, [&](const ChunkPos& pos) { return !is_in_memory(pos); });
  report.evicted.swap(dropped);
  std::erase_if(report.evicted, is_in_memory);
  report.saved = std::exchange(ended_save, std::nullopt);
}

}  // namespace varve
