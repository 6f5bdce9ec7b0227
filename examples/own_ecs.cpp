// A game with an ECS of its own: its entities are saved as sets of components, and components of a
// mod that is not loaded come back when it is.
//
// Three runs of the game on one world: with the mod, without it, with it again.
#include <varve/components.h>
#include <varve/world.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace {

using varve::Bytes, varve::ComponentSet, varve::EntityId, varve::Result, varve::Status;

constexpr varve::ChunkPos kHome(0, 0);

struct Position {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
};
struct Health {
  std::uint32_t points = 0;
};
struct Glow {  // of the mod
  std::uint32_t brightness = 0;
};

// --- Components as bytes: numbers of four bytes, the lowest first ------------------------

template <class... Numbers>
Bytes numbers_as_bytes(Numbers... numbers) {
  varve::Buffer buffer(4 * sizeof...(numbers));
  std::size_t offset = 0;
  for (const std::uint32_t number : {numbers...})
    for (int shift = 0; shift < 32; shift += 8)
      buffer.data()[offset++] = static_cast<std::byte>(number >> shift);
  return std::move(buffer).freeze();
}

std::uint32_t number_at(const Bytes& bytes, std::size_t index) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number |= std::to_integer<std::uint32_t>(bytes.data()[4 * index + i]) << (8 * i);
  return number;
}

Status check_size(const Bytes& bytes, std::size_t size) {
  if (bytes.size() == size) return {};
  return varve::corruption("expected " + std::to_string(size) + " bytes, found " +
                           std::to_string(bytes.size()));
}

Result<Bytes> encode_position(const Position& position) {
  return numbers_as_bytes(position.x, position.y);
}
Result<Position> decode_position(const Bytes& bytes) {
  if (auto good = check_size(bytes, 8); !good) return good.error();
  return Position{.x = number_at(bytes, 0), .y = number_at(bytes, 1)};
}
Result<Bytes> encode_health(const Health& health) { return numbers_as_bytes(health.points); }
Result<Health> decode_health(const Bytes& bytes) {
  if (auto good = check_size(bytes, 4); !good) return good.error();
  return Health{.points = number_at(bytes, 0)};
}
Result<Bytes> encode_glow(const Glow& glow) { return numbers_as_bytes(glow.brightness); }
Result<Glow> decode_glow(const Bytes& bytes) {
  if (auto good = check_size(bytes, 4); !good) return good.error();
  return Glow{.brightness = number_at(bytes, 0)};
}

// --- The ECS ---------------------------------------------------------------------------

class Ecs {
 public:
  std::map<EntityId, Position> positions;
  std::map<EntityId, Health> healths;
  std::map<EntityId, Glow> glows;
  // What nobody registered, kept with the entity it belongs to.
  std::map<EntityId, ComponentSet> unknown;

  Status register_types(bool with_mod) {
    // The mod registers first, so ids that followed the order of these calls would be others in a
    // run without it. The table in the save prevents that.
    if (with_mod)
      if (auto id = registry_.add<Glow>("mod:glow", encode_glow, decode_glow); !id)
        return id.error();
    has_mod_ = with_mod;
    auto id = registry_.add<Position>("position", encode_position, decode_position);
    if (id) id = registry_.add<Health>("health", encode_health, decode_health);
    if (!id) return id.error();
    return {};
  }

  // Takes over the entities of a chunk.
  Status load(varve::World& world, const varve::ChunkPos& pos) {
    const auto table = world.load_global(varve::kComponentTable);
    if (!table) return table.error();
    if (*table)
      if (auto adopted = registry_.adopt_table(**table); !adopted) return adopted;
    // The entities come with the chunk they stand in.
    if (auto chunk = world.load_now(pos); !chunk) return chunk.error();
    for (const varve::Entity& entity : world.entities_in(pos)) {
      const auto set = ComponentSet::decode(entity.data);
      if (!set) return set.error();
      if (auto taken = take(*set, entity.id, positions); !taken) return taken;
      if (auto taken = take(*set, entity.id, healths); !taken) return taken;
      if (has_mod_)
        if (auto taken = take(*set, entity.id, glows); !taken) return taken;
      unknown[entity.id] = registry_.unknown_of(*set);
    }
    return {};
  }

  // Hands everything over; what did not change costs a comparison.
  Status save(varve::World& world) const {
    if (auto put = world.put_global(varve::kComponentTable, registry_.table()); !put) return put;
    for (const auto& [id, position] : positions) {
      ComponentSet set;
      if (auto put = registry_.put(set, position); !put) return put;
      if (auto put = give(id, healths, set); !put) return put;
      if (auto put = give(id, glows, set); !put) return put;
      if (const auto found = unknown.find(id); found != unknown.end()) set.merge(found->second);
      const auto data = set.encode();
      if (!data) return data.error();
      if (auto put = world.put_entity({.id = id, .owner = kHome, .data = *data}); !put) return put;
    }
    return {};
  }

  void print_unknown() const {
    for (const auto& [id, set] : unknown)
      for (const auto& [component, value] : set)
        std::cout << "  kept for a mod: " << registry_.name_of(component) << ", " << value.size()
                  << " bytes\n";
  }

 private:
  template <class T>
  Status take(const ComponentSet& set, EntityId id, std::map<EntityId, T>& into) const {
    const auto value = registry_.get<T>(set);
    if (!value) return value.error();
    if (*value) into[id] = **value;
    return {};
  }
  template <class T>
  Status give(EntityId id, const std::map<EntityId, T>& from, ComponentSet& set) const {
    const auto found = from.find(id);
    return found == from.end() ? Status() : registry_.put(set, found->second);
  }

  varve::ComponentRegistry registry_;
  bool has_mod_ = false;
};

// --- The game --------------------------------------------------------------------------

class EmptyLand final : public varve::Generator {
 public:
  varve::GeneratorId id() const override { return {.name = "empty_land", .version = 1}; }
  Result<Bytes> generate(const varve::ChunkPos&) const override { return Bytes(); }
};

// One run: opens the world, loads the entities, lets the game do something, closes the world.
template <class Fn>
Status run(bool with_mod, Fn&& game) {
  Ecs ecs;
  if (auto registered = ecs.register_types(with_mod); !registered) return registered;
  varve::WorldOptions options;
  options.generator = std::make_shared<EmptyLand>();
  options.before_save = [&](varve::World& world) { return ecs.save(world); };
  auto opened = varve::World::open_or_create("memory:ecs", options);
  if (!opened) return opened.error();
  varve::World& world = **opened;
  if (auto loaded = ecs.load(world, kHome); !loaded) return loaded;
  std::cout << (with_mod ? "with the mod:\n" : "without the mod:\n");
  if (auto played = game(ecs, world); !played) return played;
  return world.close();
}

// The only entity there is. What is expected is checked.
Status check_lamp(const Ecs& ecs, std::uint32_t x, std::size_t glow_count) {
  if (ecs.positions.size() != 1 || ecs.healths.size() != 1 || ecs.glows.size() != glow_count)
    return varve::not_found("the lamp or a component of it is gone");
  const auto& [id, position] = *ecs.positions.begin();
  std::cout << "  lamp at " << position.x << "," << position.y << ", health "
            << ecs.healths.at(id).points;
  if (glow_count != 0) std::cout << ", glow " << ecs.glows.at(id).brightness;
  std::cout << "\n";
  if (position.x != x || position.y != 4 || ecs.healths.at(id).points != 20)
    return varve::corruption("the lamp is not as it was saved");
  if (glow_count != 0 && ecs.glows.at(id).brightness != 15)
    return varve::corruption("the glow is not as it was saved");
  return {};
}

Status first_run(Ecs& ecs, varve::World& world) {
  const EntityId lamp = world.new_entity_id();
  ecs.positions[lamp] = {.x = 3, .y = 4};
  ecs.healths[lamp] = {.points = 20};
  ecs.glows[lamp] = {.brightness = 15};
  return check_lamp(ecs, 3, 1);
}

Status run_without_mod(Ecs& ecs, varve::World&) {
  if (auto good = check_lamp(ecs, 3, 0); !good) return good;
  ecs.print_unknown();
  ecs.positions.begin()->second.x = 5;
  return check_lamp(ecs, 5, 0);
}

Status run_with_mod_again(Ecs& ecs, varve::World&) { return check_lamp(ecs, 5, 1); }

}  // namespace

int main() {
  Status done = run(true, first_run);
  if (done) done = run(false, run_without_mod);
  if (done) done = run(true, run_with_mod_again);
  if (done) return 0;
  std::cerr << "own_ecs: " << done.error().message() << "\n";
  return 1;
}
