// The entities and singletons of a world at one tick, as a journal knows them: what a snapshot holds,
// what recovery gives back.
//
// It is a value. A copy takes almost no time whatever the size, and shares all it can with the original,
// so that one thread writes a snapshot of a tick while another one goes on with the next.
//
// Numbers of entities are handed out lowest free index first. So the state depends only on which
// entities there are and were, not on the order in which a tick made them come and go, and
// what is recovered is the same state, the allocator included.
//
// Thread safety: a state that is not changed may be read and copied by any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "varve/tick.h"

namespace varve {

struct EntityView {
  EntityId entity = 0;
  std::optional<ChunkPos> chunk = {};
  const ComponentSet* components = nullptr;  // valid while the state is not changed
};

class EntityState {
 public:
  EntityState();
  ~EntityState();
  EntityState(const EntityState&);
  EntityState& operator=(const EntityState&);
  EntityState(EntityState&&) noexcept;
  EntityState& operator=(EntityState&&) noexcept;

  std::size_t entity_count() const noexcept;
  std::size_t singleton_count() const noexcept;
  bool contains(EntityId entity) const noexcept;
  std::optional<EntityView> find(EntityId entity) const noexcept;
  const Bytes* component(EntityId entity, ComponentId id) const noexcept;
  const Bytes* singleton(ComponentId id) const noexcept;
  // Players and globals, as the journal of a world carries them.
  const Bytes* player(std::string_view name) const noexcept;
  const Bytes* global(std::string_view name) const noexcept;

  // By rising index, until it returns false.
  void for_each(const std::function<bool(const EntityView&)>& visit) const;
  // Entities a chunk has, rising. Empty if it has none.
  std::vector<EntityId> entities_in(const ChunkPos& pos) const;

  // The number the next spawn should have. It stays free until a spawn with it is applied.
  // invalid_argument once all 2^32 - 1 indexes live.
  Result<EntityId> next_entity() const;

  // Whether apply() would take it.
  Status check(const TickMutations& mutations) const;
  // Applies a tick's entities, singletons, players and globals; chunks are not kept here.
  // Refused, and nothing changed: an entity of an older generation than its index has, a mutation of one
  // that does not live. A tick that was applied before changes nothing.
  Status apply(const TickMutations& mutations);

  // A hash of everything, the allocator included. Equal states have equal digests in every process.
  std::uint64_t digest() const;

  friend bool operator==(const EntityState& a, const EntityState& b);

 private:
  friend class SnapshotCodec;
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

// A snapshot as bytes: docs/formats/rgb_snapshot_v1.md.
Result<Bytes> encode_snapshot(std::uint64_t tick, const EntityState& state);
struct Snapshot {
  std::uint64_t tick = 0;
  EntityState state;
};
// corruption for anything else, before anything is allocated for it.
Result<Snapshot> decode_snapshot(const Bytes& data);

}  // namespace varve
