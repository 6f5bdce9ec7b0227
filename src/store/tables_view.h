// Reads of one generation that is in memory whole. Nothing is locked, and visitors may
// take as long as they like.
#pragma once

#include <utility>

#include "store/record_tables.h"

namespace varve {

class TablesView final : public StoreView {
 public:
  explicit TablesView(SharedTables tables) : tables_(std::move(tables)) {}

  std::uint64_t generation() const override { return tables_->generation; }
  std::uint64_t tick() const override { return tables_->tick; }
  std::optional<GeneratorId> generator() const override { return tables_->generator; }

  Result<std::optional<Bytes>> read_chunk(const ChunkPos& pos) const override;
  Result<std::optional<Entity>> read_entity(EntityId id) const override;
  Result<std::vector<Entity>> read_entities_of(const ChunkPos& owner) const override;
  Result<std::optional<Bytes>> read_player(std::string_view id) const override;
  Result<std::optional<Bytes>> read_global(std::string_view name) const override;

  Status list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const override;
  Status list_entities(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const override;
  Status list_players(const Visitor<NamedInfo>& visit) const override;
  Status list_globals(const Visitor<NamedInfo>& visit) const override;

 private:
  SharedTables tables_;
};

}  // namespace varve
