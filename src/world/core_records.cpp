// Entities, players and globals in memory.
#include <fmt/format.h>

#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "store/commit_check.h"
#include "world/world_core.h"

namespace varve {

// --- Entities -------------------------------------------------------------------------

void World::Core::forget_owner(EntityId id, const std::optional<ChunkPos>& owner) noexcept {
  if (!owner) return;
  const auto found = entities_by_owner.find(*owner);
  if (found == entities_by_owner.end()) return;
  found->second.erase(id);
  if (found->second.empty()) entities_by_owner.erase(found);
}

// Makes `change` in the table of entities, and the owners say what it says. If memory runs
// out, neither has changed.
template <class Change>
void World::Core::change_owner(EntityId id, const std::optional<ChunkPos>& before,
                               const std::optional<ChunkPos>& after, const Change& change) {
  if (before == after) return change();
  try {
    if (after) entities_by_owner[*after].insert(id);
    change();
  } catch (...) {
    forget_owner(id, after);
    throw;
  }
  forget_owner(id, before);
}

void World::Core::take_in_entities(std::vector<Entity> loaded) {
  for (Entity& entity : loaded) {
    if (entities.find(entity.id) != nullptr) continue;
    change_owner(entity.id, std::nullopt, entity.owner, [&] {
      entities.insert_clean(entity.id,
                            EntityValue{.owner = entity.owner, .data = std::move(entity.data)});
    });
  }
}

void World::Core::change_entity(EntityId id, std::optional<EntityValue> value) {
  const EntityTable::Slot* slot = entities.find(id);
  const std::optional<ChunkPos> before =
      slot != nullptr && slot->value ? slot->value->owner : std::nullopt;
  const std::optional<ChunkPos> after = value ? value->owner : std::nullopt;
  if (journal) {
    journal->notes().make_room();
    if (slot == nullptr || wants_image(slot->extra)) {
      journal->notes().image_entity(
          id, {.is_known = slot != nullptr,
               .value = slot != nullptr ? slot->value : std::optional<EntityValue>()});
    }
  }
  change_owner(id, before, after, [&] {
    EntityTable::Slot& changed = entities.change(id, std::move(value));
    if (!journal) return;
    mark_imaged(changed.extra);
    journal->notes().change_entity(id, changed.value);
  });
  // Where chunks are streamed, an entity that walks out of what is in memory goes with them.
  if (after && !windows.empty() && !is_kept(*after)) {
    const ChunkTable::Slot* chunk = chunks.find(*after);
    if ((chunk == nullptr || !chunk->value) && !loads.contains(*after)) leave(*after);
  }
}

// --- Players and globals --------------------------------------------------------------

NamedTable& World::Core::named(RecordKind kind) noexcept {
  return kind == RecordKind::player ? players : globals;
}

Status World::Core::change_named(RecordKind kind, std::string_view name,
                                 std::optional<Bytes> data) {
  VARVE_TRY(check_writable());
  VARVE_TRY(check_named(kind, name, data, store->capabilities()));
  if (kind == RecordKind::global && name == kJournalGlobal)
    return invalid_argument("global:varve:journal is Varve's own");
  return guarded(
      ErrorCode::invalid_argument, [&] { return fmt::format("{}:{}", to_string(kind), name); },
      [&]() -> Status {
        // Who left is back.
        if (kind == RecordKind::player && data) std::erase(leaving_players, name);
        const std::string key(name);
        const NamedTable::Slot* slot = named(kind).find(key);
        const bool is_same = slot != nullptr && slot->value && slot->value == data;
        if (is_same) return {};
        std::string noted;
        if (journal) {
          journal->notes().make_room();
          noted = key;
          if (slot == nullptr || wants_image(slot->extra)) {
            journal->notes().image_named(
                kind, key,
                {.is_known = slot != nullptr,
                 .value = slot != nullptr ? slot->value : std::optional<Bytes>()});
          }
        }
        NamedTable::Slot& changed = named(kind).change(key, std::move(data));
        if (journal) {
          mark_imaged(changed.extra);
          journal->notes().change_named(kind, std::move(noted), changed.value);
        }
        return {};
      });
}

std::optional<Bytes> World::Core::find_named(RecordKind kind, std::string_view name) {
  const NamedTable::Slot* slot = named(kind).find(std::string(name));
  return slot == nullptr ? std::nullopt : slot->value;
}

Result<std::optional<Bytes>> World::Core::load_named(RecordKind kind, std::string_view name) {
  if (closed) return invalid_argument("the world is closed");
  VARVE_TRY(check_named(kind, name, std::nullopt, store->capabilities()));
  if (kind == RecordKind::player) std::erase(leaving_players, name);
  return guarded(
      ErrorCode::invalid_argument,
      [&] { return fmt::format("loading {}:{}", to_string(kind), name); },
      [&]() -> Result<std::optional<Bytes>> {
        const std::string key(name);
        if (const NamedTable::Slot* slot = named(kind).find(key)) return slot->value;
        VARVE_ASSIGN(std::optional<Bytes> data, kind == RecordKind::player
                                                    ? store->read_player(name)
                                                    : store->read_global(name));
        if (data) named(kind).insert_clean(key, *data);
        return data;
      });
}

}  // namespace varve
