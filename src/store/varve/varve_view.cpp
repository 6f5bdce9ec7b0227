#include "store/varve/varve_view.h"

#include "base/guarded.h"

namespace varve {

std::optional<GeneratorId> generator_of(const SaveHeader& header, const SaveTables& tables) {
  const GeneratorId* id = tables.generators().find(header.generator_number);
  return id != nullptr ? std::optional(*id) : std::nullopt;
}

std::optional<GeneratorId> VarveView::generator() const { return generator_of(header_, *tables_); }

Result<std::optional<Bytes>> VarveView::read_chunk(const ChunkPos& pos) const {
  return or_out_of_memory([&] { return reader_.read_chunk(pos); });
}

Result<std::optional<Entity>> VarveView::read_entity(EntityId id) const {
  return or_out_of_memory([&] { return reader_.read_entity(id); });
}

Result<std::vector<Entity>> VarveView::read_entities_of(const ChunkPos& owner) const {
  return or_out_of_memory([&] { return reader_.read_entities_of(owner); });
}

Result<std::optional<Bytes>> VarveView::read_player(std::string_view id) const {
  return or_out_of_memory([&] { return reader_.read_named(RecordKind::player, id); });
}

Result<std::optional<Bytes>> VarveView::read_global(std::string_view name) const {
  return or_out_of_memory([&] { return reader_.read_named(RecordKind::global, name); });
}

Status VarveView::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  return or_out_of_memory([&] { return reader_.list_chunks(filter, visit); });
}

Status VarveView::list_entities(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const {
  return or_out_of_memory([&] { return reader_.list_entities(filter, visit); });
}

Status VarveView::list_players(const Visitor<NamedInfo>& visit) const {
  return or_out_of_memory([&] { return reader_.list_named(RecordKind::player, visit); });
}

Status VarveView::list_globals(const Visitor<NamedInfo>& visit) const {
  return or_out_of_memory([&] { return reader_.list_named(RecordKind::global, visit); });
}

}  // namespace varve
