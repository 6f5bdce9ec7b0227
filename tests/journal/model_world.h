// A world kept the naive way, in maps, changed in the order in which things happen: what a tick and
// a state have to agree with. And a game that plays in it at random.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "varve/entity_state.h"

namespace varve::test {

struct ModelEntity {
  std::optional<ChunkPos> chunk;
  std::map<ComponentId, std::string> components;
};

struct ModelChunk {
  std::optional<std::string> payload;
  std::vector<std::string> edits;
  bool operator==(const ModelChunk&) const = default;
};

struct ModelWorld {
  std::map<EntityId, ModelEntity> entities;
  std::map<std::uint32_t, std::uint32_t> generations;  // the last of each index
  std::map<ComponentId, std::string> singletons;
  std::map<std::string, std::string> players;
  std::map<std::string, std::string> globals;
  std::map<ChunkPos, ModelChunk> chunks;

  EntityId next_entity() const;
  // What a tick does to chunks, which states do not keep.
  void apply_chunks(const TickMutations& tick);
};

// The first difference, or an empty text.
std::string difference(const EntityState& state, const ModelWorld& world);

class RandomGame {
 public:
  explicit RandomGame(std::uint64_t seed) : random_(seed) {}

  // Does some things in world(), each noted, and gives the tick.
  TickMutations play_tick(std::size_t step_count);
  const ModelWorld& world() const { return world_; }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  EntityId some_entity();
  Bytes some_value(std::string& text);
  std::optional<ChunkPos> some_place();
  void step();
  void step_entity();
  void step_chunk();
  void step_named();

  std::mt19937_64 random_;
  ModelWorld world_;
  TickRecorder recorder_;
};

}  // namespace varve::test
