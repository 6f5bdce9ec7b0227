// The calls of a World about entities, players and globals.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "world/world_core.h"

namespace varve {
namespace {

Status check_size(const Capabilities& can, const std::string& key, const Bytes& data) {
  if (data.size() <= can.payload_size_max) return {};
  return unsupported(fmt::format("{}: {} bytes are more than the {} the format '{}' takes", key,
                                 data.size(), can.payload_size_max, can.format));
}

Status cannot(const Capabilities& can, const std::string& key, std::string_view what) {
  return unsupported(fmt::format("{}: the format '{}' has no {}", key, can.format, what));
}

// Players and globals differ only in what they are called.
Status put_named(NamedTable& table, std::string_view name, Bytes data) {
  std::string key(name);
  const NamedTable::Slot* slot = table.find(key);
  if (slot != nullptr && slot->value && *slot->value == data) return {};
  table.change(key, std::move(data));
  return {};
}

std::optional<Bytes> find_named(NamedTable& table, std::string_view name) {
  const NamedTable::Slot* slot = table.find(std::string(name));
  return slot == nullptr ? std::nullopt : slot->value;
}

template <class Read>
Result<std::optional<Bytes>> load_named(NamedTable& table, std::string_view name, Read read) {
  const std::string key(name);
  if (const NamedTable::Slot* slot = table.find(key)) return slot->value;
  VARVE_ASSIGN(std::optional<Bytes> data, read());
  if (data) table.insert_clean(key, *data);
  return data;
}

}  // namespace

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
  const Capabilities& can = core.store->capabilities();
  const EntityTable::Slot* slot = core.entities.find(entity.id);
  if (slot != nullptr && slot->value && slot->value->owner == entity.owner &&
      slot->value->data == entity.data)
    return {};
  const std::string key = entity_key(entity.id);
  if (!can.entities) return cannot(can, key, "entities");
  if (entity.owner) VARVE_TRY(core.check_pos(*entity.owner));
  if (!entity.owner && !can.entities_without_owner)
    return unsupported(fmt::format(
        "{}: in the format '{}' an entity stands in a chunk; set its owner", key, can.format));
  VARVE_TRY(check_size(can, key, entity.data));
  return guarded(ErrorCode::invalid_argument, key, [&]() -> Status {
    core.change_entity(entity.id, EntityValue{.owner = entity.owner, .data = entity.data});
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
  return guarded(
      ErrorCode::invalid_argument, "loading an entity", [&]() -> Result<std::optional<Entity>> {
        VARVE_ASSIGN(std::optional<Entity> stored, core.store->read_entity(id));
        if (stored) {
          core.entities.insert_clean(id, EntityValue{.owner = stored->owner, .data = stored->data});
          core.set_owner(id, std::nullopt, stored->owner);
        }
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
  Core& core = *core_;
  VARVE_TRY(core.check_writable());
  VARVE_TRY(check_name(id));
  const Capabilities& can = core.store->capabilities();
  if (!can.players) return cannot(can, player_key(id), "players");
  VARVE_TRY(check_size(can, player_key(id), data));
  return guarded(ErrorCode::invalid_argument, "putting a player", [&] {
    std::erase(core.leaving_players, id);  // who left is back
    return put_named(core.players, id, std::move(data));
  });
}

Status World::erase_player(std::string_view id) {
  Core& core = *core_;
  VARVE_TRY(core.check_writable());
  VARVE_TRY(check_name(id));
  return guarded(ErrorCode::invalid_argument, "erasing a player", [&]() -> Status {
    core.players.change(std::string(id), std::nullopt);
    return {};
  });
}

std::optional<Bytes> World::player(std::string_view id) { return find_named(core_->players, id); }

Result<std::optional<Bytes>> World::load_player(std::string_view id) {
  Core& core = *core_;
  if (core.closed) return invalid_argument("the world is closed");
  VARVE_TRY(check_name(id));
  std::erase(core.leaving_players, id);
  return guarded(ErrorCode::invalid_argument, "loading a player", [&] {
    return load_named(core.players, id, [&] { return core.store->read_player(id); });
  });
}

Status World::put_global(std::string_view name, Bytes data) {
  Core& core = *core_;
  VARVE_TRY(core.check_writable());
  VARVE_TRY(check_name(name));
  const Capabilities& can = core.store->capabilities();
  if (!can.globals) return cannot(can, global_key(name), "globals");
  VARVE_TRY(check_size(can, global_key(name), data));
  return guarded(ErrorCode::invalid_argument, "putting a global",
                 [&] { return put_named(core.globals, name, std::move(data)); });
}

Status World::erase_global(std::string_view name) {
  Core& core = *core_;
  VARVE_TRY(core.check_writable());
  VARVE_TRY(check_name(name));
  return guarded(ErrorCode::invalid_argument, "erasing a global", [&]() -> Status {
    core.globals.change(std::string(name), std::nullopt);
    return {};
  });
}

std::optional<Bytes> World::global(std::string_view name) {
  return find_named(core_->globals, name);
}

Result<std::optional<Bytes>> World::load_global(std::string_view name) {
  Core& core = *core_;
  if (core.closed) return invalid_argument("the world is closed");
  VARVE_TRY(check_name(name));
  return guarded(ErrorCode::invalid_argument, "loading a global", [&] {
    return load_named(core.globals, name, [&] { return core.store->read_global(name); });
  });
}

}  // namespace varve
