// One generation of a varve save, held.
#pragma once

#include <memory>
#include <utility>

#include "store/varve/record_reader.h"

namespace varve {

class VarveView final : public StoreView {
 public:
  // The tables are those of this generation or of a later one.
  VarveView(std::unique_ptr<ReadView> snapshot, const SaveHeader& header, SharedSaveTables tables,
            bool is_verified)
      : snapshot_(std::move(snapshot)),
        header_(header),
        tables_(std::move(tables)),
        reader_(*snapshot_, *tables_, is_verified) {}

  std::uint64_t generation() const override { return header_.generation; }
  std::uint64_t tick() const override { return header_.tick; }
  std::optional<GeneratorId> generator() const override;
  Result<std::optional<Bytes>> read_chunk(const ChunkPos& pos) const override;
  Result<std::optional<Entity>> read_entity(EntityId id) const override;
  Result<std::vector<Entity>> read_entities_of(const ChunkPos& owner) const override;
  Result<std::optional<Bytes>> read_player(std::string_view id) const override;
  Result<std::optional<Bytes>> read_global(std::string_view name) const override;
  Status list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const override;
  Status list_entities(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const override;
  Status list_players(const Visitor<NamedInfo>& visit) const override;
  Status list_globals(const Visitor<NamedInfo>& visit) const override;

  const ReadView& snapshot() const noexcept { return *snapshot_; }
  const SaveHeader& header() const noexcept { return header_; }
  const SaveTables& tables() const noexcept { return *tables_; }

 private:
  const std::unique_ptr<ReadView> snapshot_;
  const SaveHeader header_;
  const SharedSaveTables tables_;
  const RecordReader reader_;
};

// What a header says of the generator; nullopt if nothing.
std::optional<GeneratorId> generator_of(const SaveHeader& header, const SaveTables& tables);

}  // namespace varve
