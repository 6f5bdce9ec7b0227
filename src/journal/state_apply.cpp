// Ticks applied to a state. Everything that can be refused is found before the first change.
#include <fmt/format.h>

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/mutation_lists.h"
#include "journal/state_parts.h"

namespace varve {
namespace {

using journal::EntityPage;

Error refused(EntityId entity, std::string_view what, std::string_view why) {
  return invalid_argument(fmt::format("{} of entity {} (index {}, generation {}): {}", what, entity,
                                      entity_index(entity), entity_generation(entity), why));
}

template <class List>
bool has_entity(const List& list, EntityId entity) {
  const auto at = std::lower_bound(
      list.begin(), list.end(), entity,
      [](const auto& m, EntityId wanted) { return entity_order(m.entity) < entity_order(wanted); });
  return at != list.end() && at->entity == entity;
}

// What the index of `entity` has held.
struct Slot {
  bool is_used = false;
  bool is_alive = false;
  std::uint32_t generation = 0;

  Slot(const journal::PageTree& pages, EntityId entity) {
    const EntityPage* const page = pages.find(entity_index(entity));
    if (page == nullptr) return;
    const std::uint32_t slot = EntityPage::slot_of(entity);
    is_used = (page->used >> slot & 1) != 0;
    is_alive = (page->alive >> slot & 1) != 0;
    generation = page->generations[slot];
  }
};

// Says whether a tick can be applied.
class TickCheck {
 public:
  TickCheck(const journal::PageTree& pages, const TickMutations& m) : pages_(pages), m_(m) {}

  Status run() const {
    for (const DespawnMutation& m : m_.despawns) {
      const Slot slot(pages_, m.entity);
      const std::uint32_t generation = entity_generation(m.entity);
      if (!slot.is_used || slot.generation < generation) {
        return refused(m.entity, "despawn", "it has never lived");
      }
    }
    for (const EntityId entity : m_.passing) {
      const Slot slot(pages_, entity);
      const bool is_over = slot.is_used && slot.generation >= entity_generation(entity);
      if (slot.is_alive && slot.generation == entity_generation(entity)) {
        return refused(entity, "passing", "it lives");
      }
      if (!is_over) VARVE_TRY(check_vacant(entity, slot, "passing"));
    }
    VARVE_TRY(check_spawns());
    for (const RemovalMutation& m : m_.removals) VARVE_TRY(check_alive(m.entity, "removal"));
    for (const InsertMutation& m : m_.inserts) VARVE_TRY(check_alive(m.entity, "insert"));
    for (const MoveMutation& m : m_.moves) VARVE_TRY(check_alive(m.entity, "move"));
    return {};
  }

 private:
  Status check_spawns() const {
    for (std::size_t i = 0; i < m_.spawns.size(); ++i) {
      const EntityId entity = m_.spawns[i].entity;
      const std::uint32_t generation = entity_generation(entity);
      const Slot slot(pages_, entity);
      // The list rises by index, so whoever shares it is the neighbour.
      if (i != 0 && entity_index(m_.spawns[i - 1].entity) == entity_index(entity)) {
        return refused(entity, "spawn", "another one is spawned at its index");
      }
      if (has_entity(m_.despawns, entity)) {
        return refused(entity, "spawn", "it is despawned in the same tick");
      }
      if (slot.is_alive && slot.generation == generation) continue;  // applied before
      if (slot.is_used && slot.generation >= generation) {
        return refused(entity, "spawn",
                       fmt::format("its index is at generation {} already", slot.generation));
      }
      VARVE_TRY(check_vacant(entity, slot, "spawn"));
      const auto passing =
          std::upper_bound(m_.passing.begin(), m_.passing.end(), entity_order(entity) | 0xffff'ffff,
                           [](std::uint64_t order, EntityId e) { return order < entity_order(e); });
      if (passing != m_.passing.begin() && entity_index(passing[-1]) == entity_index(entity) &&
          entity_generation(passing[-1]) >= generation) {
        return refused(entity, "spawn", "its number is used up in the same tick");
      }
    }
    return {};
  }

  // Nobody else lives at its index once the despawns are done.
  Status check_vacant(EntityId entity, const Slot& slot, std::string_view what) const {
    if (!slot.is_alive) return {};
    if (has_entity(m_.despawns, make_entity(entity_index(entity), slot.generation))) return {};
    return refused(entity, what, fmt::format("generation {} lives at its index", slot.generation));
  }

  Status check_alive(EntityId entity, std::string_view what) const {
    const EntityPage* const page = pages_.find(entity_index(entity));
    const bool lives = page != nullptr && page->is_alive(entity)
                           ? m_.despawns.empty() || !has_entity(m_.despawns, entity)
                           : has_entity(m_.spawns, entity);
    return lives ? Status{} : refused(entity, what, "it does not live");
  }

  const journal::PageTree& pages_;
  const TickMutations& m_;
};

template <class Key>
void assign(const MapEdit& edit, PersistentMap<Key, Bytes>& map, const Key& key,
            const std::optional<Bytes>& value) {
  if (value) {
    map.put(edit, key, journal::kept(*value));
  } else {
    map.erase(edit, key);
  }
}

}  // namespace

Status EntityState::check(const TickMutations& m) const {
  return or_out_of_memory([&]() -> Status {
    VARVE_TRY(journal::check_mutations(m));
    return TickCheck(parts().pages, m).run();
  });
}

Status EntityState::apply(const TickMutations& m) {
  return or_out_of_memory([&]() -> Status {
    VARVE_TRY(check(m));
    Parts& parts = parts_to_change();
    for (const DespawnMutation& despawn : m.despawns) parts.despawn(despawn.entity);
    for (const EntityId entity : m.passing) {
      const Slot slot(parts.pages, entity);
      if (!slot.is_used || slot.generation < entity_generation(entity)) parts.pass(entity);
    }
    // The page of the mutation before, which is often that of this one.
    EntityPage* page = nullptr;
    std::uint32_t page_index = 0;
    const auto page_of = [&](EntityId entity) -> EntityPage& {
      const std::uint32_t index = entity_index(entity) / EntityPage::kCount;
      if (page == nullptr || index != page_index)
        page = &parts.pages.own(*parts.edit, entity_index(entity));
      page_index = index;
      return *page;
    };
    for (const SpawnMutation& spawn : m.spawns) {
      parts.spawn(spawn.entity, spawn.chunk);
      for (const ComponentValue& c : spawn.components) {
        page_of(spawn.entity).put(EntityPage::slot_of(spawn.entity), c.component, c.value);
      }
    }
    for (const RemovalMutation& removal : m.removals) {
      page_of(removal.entity).erase(EntityPage::slot_of(removal.entity), removal.component);
    }
    for (const InsertMutation& insert : m.inserts) {
      page_of(insert.entity)
          .put(EntityPage::slot_of(insert.entity), insert.component, insert.value);
    }
    for (const MoveMutation& move : m.moves) parts.move(move.entity, move.chunk);
    for (const SingletonMutation& s : m.singletons) {
      assign(*parts.edit, parts.singletons, s.component, s.value);
    }
    for (const NamedMutation& p : m.players) assign(*parts.edit, parts.players, p.name, p.data);
    for (const NamedMutation& g : m.globals) assign(*parts.edit, parts.globals, g.name, g.data);
    return {};
  });
}

}  // namespace varve
