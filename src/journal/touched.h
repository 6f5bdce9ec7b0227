// Which records the ticks of one stretch speak of, in memory.
//
// A tick speaks of what it changes and of what it has an image of. An entity is spoken of by every
// mutation of it; what came and went within a tick, nobody saw.
//
// Thread safety: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "varve/key.h"
#include "varve/tick.h"

namespace varve::journal {

// Of which there are the ticks: the kinds of records, and singletons.
enum class TouchedKind : std::uint8_t { chunk, entity, player, global, singleton };
inline constexpr std::size_t kTouchedKindCount = 5;

struct TouchedKey {
  TouchedKind kind = TouchedKind::chunk;
  ChunkPos pos = {};
  std::uint64_t id = 0;  // of an entity or a singleton
  std::string name = {};

  static TouchedKey of(const RecordKey& key) {
    return {static_cast<TouchedKind>(key.kind), key.pos, key.id, key.name};
  }
  static TouchedKey of_singleton(ComponentId id) { return {TouchedKind::singleton, {}, id, {}}; }
};

// Calls visit.chunk(pos), .entity(id), .player(name), .global(name), .singleton(id); some more than
// once.
template <class Visit>
void for_each_touched(const TickMutations& m, Visit&& visit) {
  for (const auto& each : m.despawns) visit.entity(each.entity);
  for (const auto& each : m.spawns) visit.entity(each.entity);
  for (const auto& each : m.removals) visit.entity(each.entity);
  for (const auto& each : m.inserts) visit.entity(each.entity);
  for (const auto& each : m.moves) visit.entity(each.entity);
  for (const auto& each : m.entity_images) visit.entity(each.entity);
  for (const auto& each : m.singletons) visit.singleton(each.component);
  for (const auto& each : m.images) visit.chunk(each.pos);
  for (const auto& each : m.puts) visit.chunk(each.pos);
  for (const auto& each : m.edits) visit.chunk(each.pos);
  for (const auto& each : m.players) visit.player(each.name);
  for (const auto& each : m.player_images) visit.player(each.name);
  for (const auto& each : m.globals) visit.global(each.name);
  for (const auto& each : m.global_images) visit.global(each.name);
}

class Touched {
 public:
  // Ticks as how far they are behind the first of the stretch, rising.
  using Ticks = std::vector<std::uint32_t>;

  // A tick, behind all before it.
  void note(std::uint32_t tick, const TickMutations& mutations);
  // Those of later ticks.
  void append(const Touched& later);
  // nullptr if there is none.
  const Ticks* ticks_of(const TouchedKey& key) const;

  std::unordered_map<ChunkPos, Ticks> chunks;
  std::unordered_map<EntityId, Ticks> entities;
  std::map<std::string, Ticks, std::less<>> players;
  std::map<std::string, Ticks, std::less<>> globals;
  std::map<ComponentId, Ticks> singletons;
};

}  // namespace varve::journal
