#include "journal/state_parts.h"

namespace varve {

using journal::EntityPage;

EntityState::Parts::Parts(const Parts& other)
    : pages(other.pages),
      chunks(other.chunks),
      singletons(other.singletons),
      players(other.players),
      globals(other.globals),
      entity_count(other.entity_count) {
  other.is_shared.store(true, std::memory_order_relaxed);
}

void EntityState::Parts::begin_edit() {
  if (edit && !is_shared.load(std::memory_order_relaxed)) return;
  edit.emplace();
  is_shared.store(false, std::memory_order_relaxed);
}

void EntityState::Parts::place(EntityPage& page, EntityId entity,
                               const std::optional<ChunkPos>& chunk) {
  const std::uint32_t slot = EntityPage::slot_of(entity);
  const std::uint64_t bit = std::uint64_t{1} << slot;
  const auto before = page.chunk(slot);
  if (before == chunk) return;
  if (before) chunks.remove(*edit, *before, entity);
  if (chunk) chunks.add(*edit, *chunk, entity);
  page.placed = chunk ? page.placed | bit : page.placed & ~bit;
  page.chunks[slot] = chunk.value_or(ChunkPos());
}

void EntityState::Parts::spawn(EntityId entity, const std::optional<ChunkPos>& chunk) {
  const std::uint32_t index = entity_index(entity);
  const std::uint32_t slot = EntityPage::slot_of(entity);
  EntityPage& page = pages.own(*edit, index);
  if (page.is_alive(entity)) {
    page.erase_all(slot);
  } else {
    const std::uint64_t bit = std::uint64_t{1} << slot;
    page.alive |= bit;
    page.used |= bit;
    page.taken |= bit;
    page.generations[slot] = entity_generation(entity);
    pages.note_taken(index);
    ++entity_count;
  }
  place(page, entity, chunk);
}

void EntityState::Parts::despawn(EntityId entity) {
  if (!is_alive(entity)) return;
  const std::uint32_t index = entity_index(entity);
  const std::uint32_t slot = EntityPage::slot_of(entity);
  EntityPage& page = pages.own(*edit, index);
  place(page, entity, std::nullopt);
  page.erase_all(slot);
  page.alive &= ~(std::uint64_t{1} << slot);
  --entity_count;
  pass(entity);
}

void EntityState::Parts::pass(EntityId entity) {
  const std::uint32_t index = entity_index(entity);
  const std::uint32_t slot = EntityPage::slot_of(entity);
  const std::uint64_t bit = std::uint64_t{1} << slot;
  EntityPage& page = pages.own(*edit, index);
  page.used |= bit;
  page.generations[slot] = entity_generation(entity);
  // After the last generation there is no number left for the index; index 0 is never handed out.
  const bool is_free = page.generations[slot] != 0xffff'ffff && index != 0;
  page.taken = is_free ? page.taken & ~bit : page.taken | bit;
  pages.note_taken(index);
}

void EntityState::Parts::move(EntityId entity, const std::optional<ChunkPos>& chunk) {
  place(pages.own(*edit, entity_index(entity)), entity, chunk);
}

}  // namespace varve
