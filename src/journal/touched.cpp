#include "journal/touched.h"

#include <algorithm>

namespace varve::journal {
namespace {

void add(Touched::Ticks& ticks, std::uint32_t tick) {
  if (ticks.empty() || ticks.back() != tick) ticks.push_back(tick);
}

template <class Map>
void append_map(Map& to, const Map& from) {
  for (const auto& [key, ticks] : from) {
    Touched::Ticks& all = to[key];
    // Where memory ran out in the midst of this, some are there already.
    const auto missing =
        all.empty() ? ticks.begin() : std::upper_bound(ticks.begin(), ticks.end(), all.back());
    all.insert(all.end(), missing, ticks.end());
  }
}

template <class Map, class Key>
const Touched::Ticks* find_in(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

void Touched::note(std::uint32_t tick, const TickMutations& mutations) {
  struct Visit {
    Touched& to;
    std::uint32_t tick;
    void chunk(const ChunkPos& pos) { add(to.chunks[pos], tick); }
    void entity(EntityId id) { add(to.entities[id], tick); }
    void player(const std::string& name) { add(to.players[name], tick); }
    void global(const std::string& name) { add(to.globals[name], tick); }
    void singleton(ComponentId id) { add(to.singletons[id], tick); }
  };
  for_each_touched(mutations, Visit{*this, tick});
}

void Touched::append(const Touched& later) {
  append_map(chunks, later.chunks);
  append_map(entities, later.entities);
  append_map(players, later.players);
  append_map(globals, later.globals);
  append_map(singletons, later.singletons);
}

const Touched::Ticks* Touched::ticks_of(const TouchedKey& key) const {
  switch (key.kind) {
    case TouchedKind::chunk:
      return find_in(chunks, key.pos);
    case TouchedKind::entity:
      return find_in(entities, key.id);
    case TouchedKind::player:
      return find_in(players, key.name);
    case TouchedKind::global:
      return find_in(globals, key.name);
    case TouchedKind::singleton:
      return find_in(singletons, static_cast<ComponentId>(key.id));
  }
  return nullptr;
}

}  // namespace varve::journal
