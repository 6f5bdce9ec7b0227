// The calls of a World about entities, players and globals.
#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "store/commit_check.h"
#include "world/world_core.h"

namespace varve {

// --- Entities ----------------------------------------------------------------------------

EntityId World::new_entity_id() {
  Core& core = *core_;
  // Four billion in one session: the next ones belong to a new one.
  if (++core.session_entity_count == 0) ++core.session_seed;
  return EntityId{core.session_seed} << 32 | core.session_entity_count;
}

Status World::put_entity(const Entity& entity) {
  Core& core = *core_;
  VARVE_TRY(core.check_writable());
  const EntityTable::Slot* slot = core.entities.find(entity.id);
  if (slot != nullptr && slot->value && slot->value->owner == entity.owner &&
      slot->value->data == entity.data)
    return {};
  std::optional<EntityValue> value = EntityValue{.owner = entity.owner, .data = entity.data};
  VARVE_TRY(check_entity(entity.id, value, core.store->capabilities()));
  return guarded(
      ErrorCode::invalid_argument, [&] { return entity_key(entity.id); },
      [&]() -> Status {
        core.change_entity(entity.id, std::move(value));
        return {};
      });
}

Status World::erase_entity(EntityId id) {
  VARVE_TRY(core_->check_writable());
  return guarded(ErrorCode::invalid_argument, "erasing an entity", [&]() -> Status {
    core_->change_entity(id, std::nullopt);
    return {};
  });
}

std::optional<Entity> World::entity(EntityId id) {
  const EntityTable::Slot* slot = core_->entities.find(id);
  if (slot == nullptr || !slot->value) return std::nullopt;
  return Entity{.id = id, .owner = slot->value->owner, .data = slot->value->data};
}

Result<std::optional<Entity>> World::load_entity(EntityId id) {
  Core& core = *core_;
  if (core.entities.find(id) != nullptr) return entity(id);
  if (core.closed) return invalid_argument("the world is closed");
  return guarded(ErrorCode::invalid_argument, "loading an entity",
                 [&]() -> Result<std::optional<Entity>> {
                   VARVE_ASSIGN(std::optional<Entity> stored, core.store->read_entity(id));
                   if (stored) core.take_in_entities({*stored});
                   return stored;
                 });
}

std::vector<Entity> World::entities_in(const ChunkPos& pos) {
  std::vector<Entity> found;
  const auto owned = core_->entities_by_owner.find(pos);
  if (owned == core_->entities_by_owner.end()) return found;
  for (const EntityId id : owned->second) found.push_back(*entity(id));
  std::sort(found.begin(), found.end(),
            [](const Entity& a, const Entity& b) { return a.id < b.id; });
  return found;
}

Result<std::vector<Entity>> World::load_entities_in(const ChunkPos& pos) {
  Core& core = *core_;
  if (core.closed) return invalid_argument("the world is closed");
  VARVE_TRY(core.check_pos(pos));
  VARVE_ASSIGN(LoadedChunk loaded, core.source.load(pos, LoadKind::entities));
  if (loaded.entities_error) return *loaded.entities_error;
  core.take_in(pos, std::move(loaded));
  return entities_in(pos);
}

// --- Players and globals -----------------------------------------------------------------

Status World::put_player(std::string_view id, Bytes data) {
  return core_->change_named(RecordKind::player, id, std::move(data));
}
Status World::erase_player(std::string_view id) {
  return core_->change_named(RecordKind::player, id, std::nullopt);
}
std::optional<Bytes> World::player(std::string_view id) {
  return core_->find_named(RecordKind::player, id);
}
Result<std::optional<Bytes>> World::load_player(std::string_view id) {
  return core_->load_named(RecordKind::player, id);
}

Status World::put_global(std::string_view name, Bytes data) {
  return core_->change_named(RecordKind::global, name, std::move(data));
}
Status World::erase_global(std::string_view name) {
  return core_->change_named(RecordKind::global, name, std::nullopt);
}
std::optional<Bytes> World::global(std::string_view name) {
  return core_->find_named(RecordKind::global, name);
}
Result<std::optional<Bytes>> World::load_global(std::string_view name) {
  return core_->load_named(RecordKind::global, name);
}

}  // namespace varve
