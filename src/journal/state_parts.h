// What an EntityState is made of, and the steps that change it.
//
// Invariants: 1. every entity that lives and has a chunk is in the chunk index, once, and nothing
// else is;
// 2. parts that a copy may share are not changed: the first change after a copy begins a new edit,
// under which everything it touches is copied once.
#pragma once

#include <atomic>
#include <string>

#include "journal/chunk_index.h"
#include "journal/page_tree.h"
#include "varve/entity_state.h"

namespace varve {

struct EntityState::Parts {
  using Names = PersistentMap<std::string, Bytes>;

  journal::PageTree pages;
  journal::ChunkIndex chunks;
  PersistentMap<ComponentId, Bytes> singletons;
  Names players;
  Names globals;
  std::size_t entity_count = 0;

  std::optional<MapEdit> edit;
  // Set by who copies it, which other threads may do at the same time. Whoever changes a state has
  // it to himself, so nothing has to be ordered by this.
  mutable std::atomic<bool> is_shared = false;

  Parts() = default;
  Parts(const Parts& other);
  Parts& operator=(const Parts&) = delete;

  bool is_alive(EntityId entity) const noexcept {
    const journal::EntityPage* const page = pages.find(entity_index(entity));
    return page != nullptr && page->is_alive(entity);
  }

  // The rest only under an edit.
  void begin_edit();
  // Makes it live, with nothing; takes away what it had if it lives already.
  void spawn(EntityId entity, const std::optional<ChunkPos>& chunk);
  // If it lives. Its number is used up afterwards.
  void despawn(EntityId entity);
  // Uses the number up. No entity lives at its index.
  void pass(EntityId entity);
  void move(EntityId entity, const std::optional<ChunkPos>& chunk);

 private:
  void place(journal::EntityPage& page, EntityId entity, const std::optional<ChunkPos>& chunk);
};

}  // namespace varve
