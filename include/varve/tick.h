// What happens in one tick, as data: the unit in which a journal makes a world durable and goes
// back in its history.
//
// A game notes its changes in the order in which they happen:
//
//   TickRecorder recorder;
//   recorder.spawn(entity, chunk);
//   recorder.insert(entity, position_id, position_bytes);
//   recorder.edit_chunk(pos, edit_bytes);
//   TickMutations mutations = recorder.take();
//
// and take() gives what came of them, in one order: two ticks with the same outcome are the same
// bytes. Every mutation says what is there afterwards, never by how much it changed, so that to
// apply a tick a second time changes nothing.
//
// Thread safety: none of its own.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/bytes.h"
#include "varve/components.h"
#include "varve/key.h"
#include "varve/result.h"

namespace varve {

// From the first to before the second. Of a history, 0 is from its oldest tick on; any other tick
// before that is refused as not_found.
struct TickRange {
  std::uint64_t from = 0;
  std::uint64_t to = ~std::uint64_t{0};
};

// An entity of an ECS: its generation in the high half, its index in the low one. An index is used
// again after its entity went, with the next generation.
constexpr EntityId make_entity(std::uint32_t index, std::uint32_t generation) noexcept {
  return std::uint64_t{generation} << 32 | index;
}
constexpr std::uint32_t entity_index(EntityId entity) noexcept {
  return static_cast<std::uint32_t>(entity);
}
constexpr std::uint32_t entity_generation(EntityId entity) noexcept {
  return static_cast<std::uint32_t>(entity >> 32);
}
// What lists of entities rise by: the index, then the generation. Neighbours in a list are
// neighbours in memory however old they are, and their numbers differ by little.
constexpr std::uint64_t entity_order(EntityId entity) noexcept { return std::rotl(entity, 32); }

// The component of entities that are bytes as a whole; registries count from 1.
inline constexpr ComponentId kWholeEntity = 0;

// Whose doing a mutation is: a number in the tick's list of authors, counted from 1. 0: nobody's.
using AuthorIndex = std::uint32_t;

struct ComponentValue {
  ComponentId component = 0;
  Bytes value = {};
  friend bool operator==(const ComponentValue&, const ComponentValue&) = default;
};

struct DespawnMutation {
  EntityId entity = 0;
  AuthorIndex author = 0;
  friend bool operator==(const DespawnMutation&, const DespawnMutation&) = default;
};
struct SpawnMutation {
  EntityId entity = 0;
  std::optional<ChunkPos> chunk = {};           // the chunk that has it; entities may be nowhere
  std::vector<ComponentValue> components = {};  // by rising id, none twice
  AuthorIndex author = 0;
  friend bool operator==(const SpawnMutation&, const SpawnMutation&) = default;
};
struct RemovalMutation {
  EntityId entity = 0;
  ComponentId component = 0;
  AuthorIndex author = 0;
  friend bool operator==(const RemovalMutation&, const RemovalMutation&) = default;
};
struct InsertMutation {
  EntityId entity = 0;
  ComponentId component = 0;
  Bytes value = {};
  AuthorIndex author = 0;
  friend bool operator==(const InsertMutation&, const InsertMutation&) = default;
};
struct MoveMutation {
  EntityId entity = 0;
  std::optional<ChunkPos> chunk = {};
  AuthorIndex author = 0;
  friend bool operator==(const MoveMutation&, const MoveMutation&) = default;
};
struct SingletonMutation {
  ComponentId component = 0;
  std::optional<Bytes> value = {};  // nullopt removes it
  AuthorIndex author = 0;
  friend bool operator==(const SingletonMutation&, const SingletonMutation&) = default;
};
// What a chunk was before this tick, logged with the first edit after a snapshot: from here its
// past can be told without the save.
struct ChunkImage {
  ChunkPos pos = {};
  std::optional<Bytes> payload = {};  // nullopt: there was none
  friend bool operator==(const ChunkImage&, const ChunkImage&) = default;
};
struct ChunkPut {
  ChunkPos pos = {};
  std::optional<Bytes> payload = {};  // nullopt erases
  AuthorIndex author = 0;
  friend bool operator==(const ChunkPut&, const ChunkPut&) = default;
};
// In the chunk type's own bytes.
struct ChunkEdit {
  ChunkPos pos = {};
  Bytes edit = {};
  AuthorIndex author = 0;
  friend bool operator==(const ChunkEdit&, const ChunkEdit&) = default;
};
// The same of an entity, a player, a global: what it was before the first change in a while.
struct EntityImage {
  EntityId entity = 0;
  bool was_there = false;  // if not, the rest is empty
  std::optional<ChunkPos> chunk = {};
  Bytes data = {};
  friend bool operator==(const EntityImage&, const EntityImage&) = default;
};
struct NamedImage {
  std::string name = {};
  std::optional<Bytes> data = {};  // nullopt: there was none
  friend bool operator==(const NamedImage&, const NamedImage&) = default;
};
struct NamedMutation {
  std::string name = {};
  std::optional<Bytes> data = {};  // nullopt erases
  AuthorIndex author = 0;
  friend bool operator==(const NamedMutation&, const NamedMutation&) = default;
};

// Applied in the order of the fields. Each list rises by what it is about and has at most one
// mutation of it: entities by entity_order(); removals and inserts by component, then entity;
// chunks by position; authors, players and globals by name. Edits of one chunk keep the order in
// which they were made.
struct TickMutations {
  std::vector<std::string> authors = {};  // each has done something
  std::vector<DespawnMutation> despawns = {};
  // Came and went within the tick. Nobody saw them, but their numbers are used up; of an index the
  // last one says it for those before.
  std::vector<EntityId> passing = {};
  std::vector<SpawnMutation> spawns = {};
  std::vector<RemovalMutation> removals = {};
  std::vector<InsertMutation> inserts = {};
  std::vector<MoveMutation> moves = {};
  std::vector<SingletonMutation> singletons = {};
  std::vector<ChunkImage> images = {};
  std::vector<ChunkPut> puts = {};
  std::vector<ChunkEdit> edits = {};
  std::vector<NamedMutation> players = {};
  std::vector<NamedMutation> globals = {};
  std::vector<EntityImage> entity_images = {};
  std::vector<NamedImage> player_images = {};
  std::vector<NamedImage> global_images = {};

  // Without images, which change nothing; the components of a spawn count as inserts.
  std::size_t count() const noexcept;
  bool empty() const noexcept;

  friend bool operator==(const TickMutations&, const TickMutations&) = default;
};

// As in the log: docs/formats/rgb_wal_v1.md#mutations. Refuses what is not in order, as
// invalid_argument.
Result<Bytes> encode_mutations(const TickMutations& mutations);
// corruption for what encode_mutations() did not make; unsupported for a later version of it.
Result<TickMutations> decode_mutations(const Bytes& data);

// Gathers a tick. What makes no sense, such as an insert into an entity that went before, is kept
// as it was noted, so that whoever applies the tick says so.
class TickRecorder {
 public:
  // Who does what follows, until it is called again. Empty: nobody.
  void set_author(std::string_view name);

  void spawn(EntityId entity, std::optional<ChunkPos> chunk = std::nullopt);
  void despawn(EntityId entity);
  void insert(EntityId entity, ComponentId component, Bytes value);
  void remove(EntityId entity, ComponentId component);
  void move(EntityId entity, std::optional<ChunkPos> chunk);
  void set_singleton(ComponentId component, std::optional<Bytes> value);
  // Only the first image of a chunk in a tick counts.
  void add_image(const ChunkPos& pos, std::optional<Bytes> payload);
  // What was edited before it in this tick no longer matters.
  void put_chunk(const ChunkPos& pos, std::optional<Bytes> payload);
  void edit_chunk(const ChunkPos& pos, Bytes edit);
  void put_player(std::string_view name, std::optional<Bytes> data);
  void put_global(std::string_view name, std::optional<Bytes> data);

  // What was noted since the last call, and forgets it; the author stays.
  TickMutations take();

 private:
  // Notes stay in the order in which they came; take() sorts them out. To note something is then an
  // append, and nothing is searched while the game runs.
  struct EntityNote {
    enum class Kind : std::uint8_t { spawn, despawn, move };
    EntityId entity = 0;
    std::optional<ChunkPos> chunk = {};
    AuthorIndex author = 0;
    Kind kind = Kind::spawn;
  };
  struct ComponentNote {
    EntityId entity = 0;
    ComponentId component = 0;
    AuthorIndex author = 0;
    std::size_t entity_note_count = 0;  // those before it
    std::optional<Bytes> value = {};    // nullopt removes
  };
  struct PutNote {
    ChunkPut put = {};
    std::size_t edit_count = 0;  // those before it
  };
  // Which notes of an entity still count, and where they go.
  struct Life;

  AuthorIndex author();
  std::vector<Life> take_entities(TickMutations& out);
  void take_components(const std::vector<Life>& lives, TickMutations& out);
  void take_chunks(TickMutations& out);
  void take_authors(TickMutations& out);

  std::string author_name_;
  AuthorIndex author_ = 0;  // 0 also for one who has done nothing in this tick yet
  std::map<std::string, AuthorIndex, std::less<>> authors_;
  std::vector<EntityNote> entity_notes_;
  std::vector<ComponentNote> component_notes_;
  std::vector<SingletonMutation> singletons_;
  std::vector<ChunkImage> images_;
  std::vector<PutNote> puts_;
  std::vector<ChunkEdit> edits_;
  std::vector<NamedMutation> players_;
  std::vector<NamedMutation> globals_;
};

}  // namespace varve
