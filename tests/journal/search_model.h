// What a tick says of one thing, found in the decoded tick. For tests and the fuzz target.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "journal/mutation_search.h"
#include "varve/tick.h"

namespace varve::test {

// The first difference between what searching a payload finds and what is in the tick it was made
// from, for everything that is in it, and for something that is not; or an empty text.
inline std::string search_difference(const Bytes& payload, const TickMutations& tick) {
  using journal::SaidOfComponent;
  using Kind = SaidOfComponent::Kind;
  std::map<std::pair<EntityId, ComponentId>, SaidOfComponent> expected;
  const ComponentId absent = 0xffff'fff0;
  expected[{~EntityId{0}, absent}] = {};
  for (const auto& each : tick.removals)
    expected[{each.entity, each.component}] = {Kind::removed, {}};
  for (const auto& each : tick.inserts)
    expected[{each.entity, each.component}] = {Kind::set, each.value};
  for (const auto& each : tick.despawns) expected[{each.entity, absent}] = {Kind::despawned, {}};
  for (const auto& each : tick.spawns) {
    expected[{each.entity, absent}] = {Kind::spawned, {}};
    // What is done to it later in the tick counts more.
    for (const auto& c : each.components)
      expected.try_emplace({each.entity, c.component}, SaidOfComponent{Kind::set, c.value});
  }
  for (const auto& [key, said] : expected) {
    const auto found = journal::search_component(payload, key.first, key.second);
    if (!found) return found.error().message();
    if (found->kind != said.kind || found->value != said.value) {
      return "entity " + std::to_string(key.first) + " component " + std::to_string(key.second);
    }
  }
  const auto differs = [](const Result<journal::SaidOfValue>& found,
                          const journal::SaidOfValue& said) { return !found || *found != said; };
  for (const auto& each : tick.singletons) {
    if (differs(journal::search_singleton(payload, each.component), each.value)) return "singleton";
  }
  for (const auto& each : tick.players) {
    if (differs(journal::search_player(payload, each.name), each.data)) return "player";
  }
  for (const auto& each : tick.globals) {
    if (differs(journal::search_global(payload, each.name), each.data)) return "global";
  }
  if (differs(journal::search_singleton(payload, absent), {})) return "no singleton";
  if (differs(journal::search_player(payload, "nobody at all"), {})) return "no player";
  if (differs(journal::search_global(payload, "nothing at all"), {})) return "no global";
  return {};
}

}  // namespace varve::test
