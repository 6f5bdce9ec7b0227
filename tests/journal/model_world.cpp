#include "model_world.h"

#include <algorithm>
#include <sstream>

namespace varve::test {

EntityId ModelWorld::next_entity() const {
  std::set<std::uint32_t> living;
  for (const auto& [entity, value] : entities) living.insert(entity_index(entity));
  std::uint32_t index = 1;
  while (living.contains(index)) ++index;
  const auto last = generations.find(index);
  return make_entity(index, last == generations.end() ? 0 : last->second + 1);
}

void ModelWorld::apply_chunks(const TickMutations& tick) {
  for (const ChunkPut& put : tick.puts) {
    ModelChunk& chunk = chunks[put.pos] = {};
    if (put.payload) chunk.payload = put.payload->text();
  }
  for (const ChunkEdit& edit : tick.edits) {
    chunks[edit.pos].edits.emplace_back(edit.edit.text());
  }
}

std::string difference(const EntityState& state, const ModelWorld& world) {
  std::ostringstream out;
  if (state.entity_count() != world.entities.size()) out << "number of entities\n";
  std::map<ChunkPos, std::vector<EntityId>> chunks;
  for (const auto& [entity, value] : world.entities) {
    const auto view = state.find(entity);
    if (!view) {
      out << "entity " << entity << " is missing\n";
      continue;
    }
    std::map<ComponentId, std::string> components;
    for (const ComponentView& c : view->components) components[c.component] = as_text(c.value);
    if (view->entity != entity || view->chunk != value.chunk || components != value.components) {
      out << "entity " << entity << " differs\n";
    }
    if (value.chunk) chunks[*value.chunk].push_back(entity);
  }
  for (auto& [pos, entities] : chunks) {
    std::sort(entities.begin(), entities.end(),
              [](EntityId a, EntityId b) { return entity_order(a) < entity_order(b); });
    if (state.entities_in(pos) != entities) out << to_string(pos) << " has other entities\n";
  }
  std::map<ComponentId, std::string> singletons;
  for (const auto& [id, value] : state.singletons()) singletons[id] = value.text();
  if (singletons != world.singletons) out << "singletons\n";
  std::map<std::string, std::string> players;
  for (const auto& [name, value] : state.players()) players[name] = value.text();
  if (players != world.players) out << "players\n";
  std::map<std::string, std::string> globals;
  for (const auto& [name, value] : state.globals()) globals[name] = value.text();
  if (globals != world.globals) out << "globals\n";
  if (*state.next_entity() != world.next_entity()) out << "next entity\n";
  return out.str();
}

EntityId RandomGame::some_entity() {
  auto at = world_.entities.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(below(world_.entities.size())));
  return at->first;
}

Bytes RandomGame::some_value(std::string& text) {
  // Mostly of one size, as components are; now and then another one, or a large one.
  const std::size_t kind = below(16);
  text.assign(kind == 0 ? below(6) : kind == 1 ? 300 : 8, 'v');
  for (char& c : text) c = static_cast<char>('a' + below(3));
  return Bytes::copy_of(text);
}

std::optional<ChunkPos> RandomGame::some_place() {
  const auto x = static_cast<std::int32_t>(below(4)) - 2;
  switch (below(4)) {
    case 0:
      return std::nullopt;
    case 1:
      return ChunkPos(x, 0, -x).in(*Space::named("the_nether"));
    default:
      return ChunkPos(x, static_cast<std::int32_t>(below(3)) - 1);
  }
}

void RandomGame::step_entity() {
  const std::size_t what = world_.entities.empty() ? 0 : below(12);
  if (what <= 1) {
    const EntityId entity = world_.next_entity();
    const auto place = some_place();
    recorder_.spawn(entity, place);
    world_.entities[entity].chunk = place;
    world_.generations[entity_index(entity)] = entity_generation(entity);
    return;
  }
  const EntityId entity = some_entity();
  ModelEntity& value = world_.entities[entity];
  const auto component = static_cast<ComponentId>(below(5));
  if (what == 2) {
    recorder_.despawn(entity);
    world_.entities.erase(entity);
  } else if (what == 3) {
    const auto place = some_place();
    recorder_.move(entity, place);
    value.chunk = place;
  } else if (what <= 5) {
    recorder_.remove(entity, component);
    value.components.erase(component);
  } else {
    recorder_.insert(entity, component, some_value(value.components[component]));
  }
}

void RandomGame::step_chunk() {
  const ChunkPos pos = some_place().value_or(ChunkPos(7));
  ModelChunk& chunk = world_.chunks[pos];
  std::string text;
  switch (below(4)) {
    case 0: {
      std::optional<Bytes> payload;
      chunk = {};
      if (below(3) != 0) {
        payload = some_value(text);
        chunk.payload = text;
      }
      recorder_.put_chunk(pos, std::move(payload));
      return;
    }
    case 1:
      recorder_.add_image(pos, some_value(text));
      return;
    default:
      recorder_.edit_chunk(pos, some_value(text));
      chunk.edits.push_back(text);
  }
}

void RandomGame::step_named() {
  std::string text;
  const bool erases = below(4) == 0;
  std::optional<Bytes> value;
  if (!erases) value = some_value(text);
  const auto assign = [&](auto& map, const auto& key) {
    if (erases) {
      map.erase(key);
    } else {
      map[key] = text;
    }
  };
  const std::string name(1, static_cast<char>('p' + below(4)));
  switch (below(3)) {
    case 0:
      recorder_.put_player(name, value);
      return assign(world_.players, name);
    case 1:
      recorder_.put_global(name, value);
      return assign(world_.globals, name);
    default:
      const auto component = static_cast<ComponentId>(below(4));
      recorder_.set_singleton(component, value);
      return assign(world_.singletons, component);
  }
}

void RandomGame::step() {
  if (below(4) == 0) {
    constexpr const char* kNames[] = {"", "ann", "bob", "zoe"};
    recorder_.set_author(kNames[below(4)]);
  }
  const std::size_t what = below(10);
  if (what < 7) return step_entity();
  if (what < 9) return step_chunk();
  step_named();
}

TickMutations RandomGame::play_tick(std::size_t step_count) {
  for (std::size_t i = 0; i < step_count; ++i) step();
  return recorder_.take();
}

}  // namespace varve::test
