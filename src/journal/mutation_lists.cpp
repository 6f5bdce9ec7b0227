#include "journal/mutation_lists.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve {

std::size_t TickMutations::count() const noexcept {
  std::size_t component_count = 0;
  for (const SpawnMutation& spawn : spawns) component_count += spawn.components.size();
  return despawns.size() + passing.size() + spawns.size() + component_count + removals.size() +
         inserts.size() + moves.size() + singletons.size() + puts.size() + edits.size() +
         players.size() + globals.size();
}

bool TickMutations::empty() const noexcept {
  return images.empty() && despawns.empty() && passing.empty() && spawns.empty() &&
         removals.empty() && inserts.empty() && moves.empty() && singletons.empty() &&
         puts.empty() && edits.empty() && players.empty() && globals.empty() &&
         entity_images.empty() && player_images.empty() && global_images.empty();
}

namespace journal {
namespace {

Error out_of_order(std::string_view list) {
  return invalid_argument(fmt::format("mutations: the {} are not in order", list));
}

// Whether before(a, b) holds for each element and the next.
template <class List, class Before>
Status check_order(std::string_view name, const List& list, Before before) {
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (!before(list[i - 1], list[i])) return out_of_order(name);
  }
  return {};
}

template <class List>
Status check_entities(std::string_view name, const List& list) {
  return check_order(name, list, [](const auto& a, const auto& b) {
    return entity_order(a.entity) < entity_order(b.entity);
  });
}

template <class List>
Status check_components(std::string_view name, const List& list) {
  return check_order(name, list, [](const auto& a, const auto& b) {
    if (a.component != b.component) return a.component < b.component;
    return entity_order(a.entity) < entity_order(b.entity);
  });
}

Status check_value(const Bytes& value) {
  if (value.size() <= kValueSizeMax) return {};
  return invalid_argument(fmt::format("mutations: a value of {} bytes; at most {} are allowed",
                                      value.size(), kValueSizeMax));
}
Status check_value(const std::optional<Bytes>& value) {
  return value ? check_value(*value) : Status{};
}

Status check_position(const ChunkPos& pos) {
  bool is_good = pos.coordinate_count >= 1 && pos.coordinate_count <= kCoordinateCountMax;
  for (std::size_t axis = pos.coordinate_count; is_good && axis < kCoordinateCountMax; ++axis) {
    is_good = pos[axis] == 0;
  }
  if (is_good) return {};
  return invalid_argument("mutations: a chunk position with coordinates it does not count");
}
Status check_position(const std::optional<ChunkPos>& pos) {
  return pos ? check_position(*pos) : Status{};
}

Status check_spawns(const TickMutations& m) {
  VARVE_TRY(check_entities("spawns", m.spawns));
  for (const SpawnMutation& spawn : m.spawns) {
    VARVE_TRY(check_position(spawn.chunk));
    VARVE_TRY(check_order("components of a spawn", spawn.components,
                          [](const ComponentValue& a, const ComponentValue& b) {
                            return a.component < b.component;
                          }));
    for (const ComponentValue& component : spawn.components)
      VARVE_TRY(check_value(component.value));
  }
  return {};
}

Status check_chunks(const TickMutations& m) {
  const auto rises = [](const auto& a, const auto& b) { return a.pos < b.pos; };
  VARVE_TRY(check_order("images", m.images, rises));
  VARVE_TRY(check_order("puts", m.puts, rises));
  VARVE_TRY(check_order("edits", m.edits,
                        [](const ChunkEdit& a, const ChunkEdit& b) { return a.pos <= b.pos; }));
  for (const ChunkImage& image : m.images) {
    VARVE_TRY(check_position(image.pos));
    VARVE_TRY(check_value(image.payload));
  }
  for (const ChunkPut& put : m.puts) {
    VARVE_TRY(check_position(put.pos));
    VARVE_TRY(check_value(put.payload));
  }
  for (const ChunkEdit& edit : m.edits) {
    VARVE_TRY(check_position(edit.pos));
    VARVE_TRY(check_value(edit.edit));
  }
  return {};
}

Status check_entity_images(const std::vector<EntityImage>& images) {
  VARVE_TRY(check_entities("images of entities", images));
  for (const EntityImage& image : images) {
    if (!image.was_there && (image.chunk || !image.data.empty())) {
      return invalid_argument("mutations: an entity that was not there, with a chunk or bytes");
    }
    VARVE_TRY(check_position(image.chunk));
    VARVE_TRY(check_value(image.data));
  }
  return {};
}

template <class Named>
Status check_named(std::string_view name, const std::vector<Named>& list) {
  VARVE_TRY(
      check_order(name, list, [](const Named& a, const Named& b) { return a.name < b.name; }));
  for (const Named& mutation : list) {
    VARVE_TRY(check_name(mutation.name));
    VARVE_TRY(check_value(mutation.data));
  }
  return {};
}

Status check_authors(const TickMutations& m) {
  VARVE_TRY(check_order("authors", m.authors, std::less<>()));
  for (const std::string& name : m.authors) VARVE_TRY(check_name(name));
  std::vector<bool> is_used(m.authors.size() + 1);
  bool is_known = true;
  for_each_author(m, [&](AuthorIndex author) {
    if (author < is_used.size()) {
      is_used[author] = true;
    } else {
      is_known = false;
    }
  });
  if (!is_known) return invalid_argument("mutations: an author who is not in the list of authors");
  if (std::find(is_used.begin() + 1, is_used.end(), false) != is_used.end()) {
    return invalid_argument("mutations: an author who has done nothing");
  }
  return {};
}

}  // namespace

Status check_mutations(const TickMutations& m) {
  VARVE_TRY(check_authors(m));
  VARVE_TRY(check_entities("despawns", m.despawns));
  VARVE_TRY(check_order("passing entities", m.passing,
                        [](EntityId a, EntityId b) { return entity_order(a) < entity_order(b); }));
  VARVE_TRY(check_spawns(m));
  VARVE_TRY(check_components("removals", m.removals));
  VARVE_TRY(check_components("inserts", m.inserts));
  for (const InsertMutation& insert : m.inserts) VARVE_TRY(check_value(insert.value));
  VARVE_TRY(check_entities("moves", m.moves));
  for (const MoveMutation& move : m.moves) VARVE_TRY(check_position(move.chunk));
  VARVE_TRY(check_order("singletons", m.singletons,
                        [](const SingletonMutation& a, const SingletonMutation& b) {
                          return a.component < b.component;
                        }));
  for (const SingletonMutation& singleton : m.singletons) VARVE_TRY(check_value(singleton.value));
  VARVE_TRY(check_chunks(m));
  VARVE_TRY(check_named("players", m.players));
  VARVE_TRY(check_named("globals", m.globals));
  VARVE_TRY(check_entity_images(m.entity_images));
  VARVE_TRY(check_named("images of players", m.player_images));
  return check_named("images of globals", m.global_images);
}

}  // namespace journal
}  // namespace varve
