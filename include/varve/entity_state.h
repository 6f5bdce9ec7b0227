// The entities and singletons of a world at one tick, as a journal knows them: what a snapshot
// holds, what recovery gives back.
//
// It is a value. A copy takes almost no time whatever the size, and shares all it can with the
// original, so that one thread writes a snapshot of a tick while another one goes on with the next.
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
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "varve/tick.h"

namespace varve {

// What a view of bytes shows stays there until the state is changed or gone.
struct ComponentView {
  ComponentId component = 0;
  ByteView value = {};
};
struct EntityView {
  EntityId entity = 0;
  std::optional<ChunkPos> chunk = {};
  std::vector<ComponentView> components = {};  // by rising id
};

class EntityState {
 public:
  EntityState() noexcept;
  ~EntityState();
  EntityState(const EntityState&);
  EntityState& operator=(const EntityState&);
  // The other one is empty afterwards.
  EntityState(EntityState&&) noexcept;
  EntityState& operator=(EntityState&&) noexcept;

  std::size_t entity_count() const noexcept;
  std::size_t singleton_count() const noexcept;
  bool contains(EntityId entity) const noexcept;
  std::optional<EntityView> find(EntityId entity) const;
  // nullopt if it has none; a value without bytes is a value.
  std::optional<ByteView> component(EntityId entity, ComponentId id) const noexcept;
  const Bytes* singleton(ComponentId id) const noexcept;
  // Players and globals, as the journal of a world carries them.
  const Bytes* player(std::string_view name) const noexcept;
  const Bytes* global(std::string_view name) const noexcept;

  // By rising index, until it returns false. The view is good for the call alone.
  void for_each(const std::function<bool(const EntityView&)>& visit) const;
  // By rising id and name.
  std::vector<std::pair<ComponentId, Bytes>> singletons() const;
  std::vector<std::pair<std::string, Bytes>> players() const;
  std::vector<std::pair<std::string, Bytes>> globals() const;
  // Entities a chunk has, by rising index. Empty if it has none.
  std::vector<EntityId> entities_in(const ChunkPos& pos) const;

  // The number the next spawn should have: the lowest index nobody lives at, in its next
  // generation. Indexes begin at 1 and generations at 0, so that no entity is 0. It stays free
  // until a spawn with it is applied. invalid_argument once all 2^32 - 1 indexes are taken; an
  // index is given up after its last generation.
  Result<EntityId> next_entity() const;

  // Whether apply() would take it.
  Status check(const TickMutations& mutations) const;
  // Applies a tick's entities, singletons, players and globals; chunks are not kept here. A tick
  // that was applied before changes nothing. invalid_argument, and nothing changed: lists out of
  // order; a spawn at an index where another one lives, or of a generation that is over; any other
  // mutation of an entity that does not live. To despawn one that is gone already is no mistake.
  // out_of_space: there was no memory for it, and the state is good for nothing but to be dropped.
  Status apply(const TickMutations& mutations);

  // A hash of everything, the allocator included. Equal states have equal digests in every process.
  std::uint64_t digest() const;

  friend bool operator==(const EntityState& a, const EntityState& b);

 private:
  friend class SnapshotCodec;
  struct Parts;
  const Parts& parts() const noexcept;
  Parts& parts_to_change();

  std::unique_ptr<Parts> parts_;  // null: empty
};

// A snapshot as bytes: docs/formats/rgb_snapshot_v1.md.
Result<Bytes> encode_snapshot(std::uint64_t tick, const EntityState& state);
struct Snapshot {
  std::uint64_t tick = 0;
  EntityState state;
};
// corruption for what encode_snapshot() did not make; unsupported for a later version of it.
Result<Snapshot> decode_snapshot(const Bytes& data);

}  // namespace varve
