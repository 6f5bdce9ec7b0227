// All records of one generation, in memory.
//
// For stores that keep their whole world in memory. A generation is immutable once it
// was handed out; the next one shares with it whatever did not change.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/persistent_map.h"
#include "varve/store.h"

namespace varve {

// By chunk, then by id: the entities of one chunk stand together.
struct OwnedEntity {
  ChunkPos owner;
  EntityId id = 0;

  friend std::strong_ordering operator<=>(const OwnedEntity&, const OwnedEntity&) = default;
};

struct RecordTables {
  std::uint64_t generation = 0;
  std::uint64_t tick = 0;
  std::optional<GeneratorId> generator;
  PersistentMap<ChunkPos, Bytes> chunks;
  PersistentMap<EntityId, EntityValue> entities;
  // Each entity that has an owner, and no other.
  PersistentMap<OwnedEntity, std::monostate> entities_by_owner;
  PersistentMap<std::string, Bytes> players;
  PersistentMap<std::string, Bytes> globals;

  // Puts an entity, or removes it, and keeps entities_by_owner in step.
  void put_entity(const MapEdit& edit, EntityId id, EntityValue value);
  bool erase_entity(const MapEdit& edit, EntityId id);

  std::uint64_t record_count() const noexcept {
    return chunks.size() + entities.size() + players.size() + globals.size();
  }
  // Bytes of all payloads.
  std::uint64_t payload_size() const;
};

using SharedTables = std::shared_ptr<const RecordTables>;

struct NextTables {
  // The generation after the commit; the one before it if the commit changes nothing
  // and does not advance the tick.
  SharedTables tables;
  // All but written_size.
  CommitStats stats;
};

// What a commit, which was checked, makes of a generation. Progress goes from 0 to `share`.
// Throws std::bad_alloc; the generation before stays as it is.
Result<NextTables> next_tables(const SharedTables& before, const Commit& commit, Progress& progress,
                               double share);

}  // namespace varve
