// Reads of one generation of a nebula save.
#pragma once

#include <functional>
#include <memory>

#include "io/vfs.h"
#include "store/nebula/generation.h"
#include "store/tables_view.h"
#include "varve/store.h"

namespace varve::nebula {

class NebulaView final : public StoreView {
 public:
  // What to do if a file is not the one `generation` knows. Returns a newer generation
  // to try with, null if there is none, or why there can be none.
  using Newer = std::function<Result<SharedGeneration>(const SharedGeneration& than)>;

  NebulaView(Vfs& vfs, const SaveLayout& layout, SharedGeneration generation, Newer newer)
      : vfs_(vfs), layout_(layout), generation_(std::move(generation)), newer_(std::move(newer)) {}

  std::uint64_t generation() const override { return generation_->files.generation; }
  std::uint64_t tick() const override { return generation_->files.tick; }
  std::optional<GeneratorId> generator() const override { return generation_->files.generator; }

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
  Result<std::optional<Bytes>> read(const RecordKey& key) const;
  Result<std::optional<Bytes>> read_named(RecordKind kind, std::string_view name) const;
  template <class Call>
  auto with_entities(Call&& call) const -> decltype(call(std::declval<const TablesView&>()));
  Status list_named(RecordKind kind, const Visitor<NamedInfo>& visit) const;

  Vfs& vfs_;
  const SaveLayout& layout_;
  SharedGeneration generation_;
  Newer newer_;
};

}  // namespace varve::nebula
