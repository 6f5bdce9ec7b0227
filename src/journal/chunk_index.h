// Which entities each chunk has, in a map whose copies share all that is not changed.
#pragma once

#include <memory>
#include <vector>

#include "base/persistent_map.h"
#include "varve/tick.h"

namespace varve::journal {

class ChunkIndex {
 public:
  std::size_t chunk_count() const noexcept { return chunks_.size(); }
  // By entity_order(); null if it has none.
  const std::vector<EntityId>* find(const ChunkPos& pos) const noexcept;

  // It is not there yet.
  void add(const MapEdit& edit, const ChunkPos& pos, EntityId entity);
  // It is there.
  void remove(const MapEdit& edit, const ChunkPos& pos, EntityId entity);

  // Calls visit(pos, entities) by rising position until it returns false.
  template <class Visit>
  void visit(Visit&& visit) const {
    chunks_.visit([&](const ChunkPos& pos, const std::shared_ptr<Entities>& entities) {
      return visit(pos, entities->list);
    });
  }

 private:
  struct Entities {
    std::uint64_t edit = 0;  // that made it; no other changes it
    std::vector<EntityId> list;
  };

  // Those of a chunk, to be changed under `edit`.
  std::vector<EntityId>& own(const MapEdit& edit, const ChunkPos& pos);

  PersistentMap<ChunkPos, std::shared_ptr<Entities>> chunks_;
};

}  // namespace varve::journal
