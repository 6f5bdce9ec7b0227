#include "journal/chunk_index.h"

#include <algorithm>

namespace varve::journal {
namespace {

auto at_or_after(std::vector<EntityId>& list, EntityId entity) {
  return std::lower_bound(list.begin(), list.end(), entity,
                          [](EntityId a, EntityId b) { return entity_order(a) < entity_order(b); });
}

}  // namespace

const std::vector<EntityId>* ChunkIndex::find(const ChunkPos& pos) const noexcept {
  const auto* const found = chunks_.find(pos);
  return found == nullptr ? nullptr : &(*found)->list;
}

std::vector<EntityId>& ChunkIndex::own(const MapEdit& edit, const ChunkPos& pos) {
  const auto* const found = chunks_.find(pos);
  if (found != nullptr && (*found)->edit == edit.number()) return (*found)->list;
  auto made = found == nullptr ? std::make_shared<Entities>() : std::make_shared<Entities>(**found);
  made->edit = edit.number();
  auto& list = made->list;
  chunks_.put(edit, pos, std::move(made));
  return list;
}

void ChunkIndex::add(const MapEdit& edit, const ChunkPos& pos, EntityId entity) {
  auto& list = own(edit, pos);
  list.insert(at_or_after(list, entity), entity);
}

void ChunkIndex::remove(const MapEdit& edit, const ChunkPos& pos, EntityId entity) {
  auto& list = own(edit, pos);
  list.erase(at_or_after(list, entity));
  if (list.empty()) chunks_.erase(edit, pos);
}

}  // namespace varve::journal
