#include "store/tables_view.h"

#include <algorithm>
#include <limits>

#include "base/guarded.h"
#include "store/chunk_range.h"

namespace varve {
namespace {

Result<std::optional<Bytes>> read_named(const PersistentMap<std::string, Bytes>& table,
                                        std::string_view name) {
  const Bytes* data = table.find(name);
  return data != nullptr ? std::optional(*data) : std::nullopt;
}

Status list_named(const PersistentMap<std::string, Bytes>& table, const Visitor<NamedInfo>& visit) {
  return or_out_of_memory([&]() -> Status {
    table.visit([&](const std::string& name, const Bytes& data) {
      return visit({.name = name, .data_size = data.size()});
    });
    return {};
  });
}

EntityInfo info_of(EntityId id, const EntityValue& value) {
  return {.id = id, .owner = value.owner, .data_size = value.data.size()};
}

}  // namespace

Result<std::optional<Bytes>> TablesView::read_chunk(const ChunkPos& pos) const {
  const Bytes* payload = tables_->chunks.find(pos);
  return payload != nullptr ? std::optional(*payload) : std::nullopt;
}

Result<std::optional<Entity>> TablesView::read_entity(EntityId id) const {
  const EntityValue* value = tables_->entities.find(id);
  if (value == nullptr) return std::optional<Entity>();
  return std::optional(Entity{.id = id, .owner = value->owner, .data = value->data});
}

Result<std::vector<Entity>> TablesView::read_entities_of(const ChunkPos& owner) const {
  return or_out_of_memory([&]() -> Result<std::vector<Entity>> {
    std::vector<Entity> found;
    tables_->entities_by_owner.visit_from(OwnedEntity{owner, 0}, [&](const auto& key, const auto&) {
      if (key.owner != owner) return false;
      found.push_back({key.id, owner, tables_->entities.find(key.id)->data});
      return true;
    });
    return found;
  });
}

Result<std::optional<Bytes>> TablesView::read_player(std::string_view id) const {
  return read_named(tables_->players, id);
}

Result<std::optional<Bytes>> TablesView::read_global(std::string_view name) const {
  return read_named(tables_->globals, name);
}

Status TablesView::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  return or_out_of_memory([&]() -> Status {
    tables_->chunks.visit_from(first_of(filter), [&](const ChunkPos& pos, const Bytes& payload) {
      if (is_behind(filter, pos)) return false;
      return !filter.admits(pos) || visit({.pos = pos, .payload_size = payload.size()});
    });
    return {};
  });
}

Status TablesView::list_entities(const ChunkFilter& filter,
                                 const Visitor<EntityInfo>& visit) const {
  return or_out_of_memory([&]() -> Status {
    if (!filter.space && !filter.box) {
      tables_->entities.visit(
          [&](EntityId id, const EntityValue& value) { return visit(info_of(id, value)); });
      return {};
    }
    // The index is by chunk, the listing by id.
    std::vector<EntityId> ids;
    tables_->entities_by_owner.visit_from(OwnedEntity{first_of(filter), 0},
                                          [&](const OwnedEntity& key, const auto&) {
                                            if (is_behind(filter, key.owner)) return false;
                                            if (filter.admits(key.owner)) ids.push_back(key.id);
                                            return true;
                                          });
    std::sort(ids.begin(), ids.end());
    for (const EntityId id : ids) {
      if (!visit(info_of(id, *tables_->entities.find(id)))) break;
    }
    return {};
  });
}

Status TablesView::list_players(const Visitor<NamedInfo>& visit) const {
  return list_named(tables_->players, visit);
}

Status TablesView::list_globals(const Visitor<NamedInfo>& visit) const {
  return list_named(tables_->globals, visit);
}

}  // namespace varve
