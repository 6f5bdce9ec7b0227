#include "store/commit_check.h"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

// --- One record ---------------------------------------------------------------------

Error cannot(std::string_view key, std::string_view what, const Capabilities& can) {
  return unsupported(fmt::format("{}: the format {} cannot keep {}", key, can.format, what));
}

// The checks are asked for every record, so `key` makes its name only where something is
// wrong with it.
template <class Key>
Status is_position(const ChunkPos& pos, const Key& key) {
  bool good = pos.coordinate_count >= 1 && pos.coordinate_count <= kCoordinateCountMax;
  for (std::size_t i = pos.coordinate_count; i < kCoordinateCountMax; ++i) {
    good = good && pos.coordinates[i] == 0;
  }
  if (good) return {};
  return invalid_argument(
      fmt::format("{}: a position has 1 to {} coordinates, and those beyond its count of {} are 0",
                  key(), kCoordinateCountMax, pos.coordinate_count));
}

template <class Key>
Status can_be_at(const ChunkPos& pos, const Key& key, const Capabilities& can) {
  if (pos.coordinate_count < can.coordinate_count_min ||
      pos.coordinate_count > can.coordinate_count_max) {
    return unsupported(fmt::format(
        "{}: the format {} takes positions of {} to {} coordinates, not {}", key(), can.format,
        can.coordinate_count_min, can.coordinate_count_max, pos.coordinate_count));
  }
  for (std::size_t i = 0; i < pos.coordinate_count; ++i) {
    const CoordinateRange& range = can.coordinate_ranges[i];
    if (pos[i] >= range.min && pos[i] <= range.max) continue;
    return unsupported(fmt::format("{}: coordinate {} goes from {} to {} in the format {}", key(),
                                   i + 1, range.min, range.max, can.format));
  }
  if (!can.spaces && pos.space != Space()) {
    return cannot(key(), "spaces other than the default one", can);
  }
  return {};
}

template <class Key>
Status fits(std::uint64_t size, const Key& key, const Capabilities& can) {
  if (size > can.payload_size_max) return too_large(key(), size, can);
  return {};
}

Status takes_chunk(const ChunkPos& pos, std::uint64_t size, const Capabilities& can) {
  const auto key = [&] { return to_string(pos); };
  VARVE_TRY(is_position(pos, key));
  VARVE_TRY(can_be_at(pos, key, can));
  return fits(size, key, can);
}

Status takes_entity(EntityId id, const std::optional<ChunkPos>& owner, std::uint64_t size,
                    const Capabilities& can) {
  const auto key = [&] { return entity_key(id); };
  if (!can.entities) return cannot(key(), "entities", can);
  if (owner) {
    VARVE_TRY(is_position(*owner, key));
    VARVE_TRY(can_be_at(*owner, key, can));
  } else if (!can.entities_without_owner) {
    return cannot(key(), "entities without an owner", can);
  }
  return fits(size, key, can);
}

std::string named_key(RecordKind kind, std::string_view name) {
  return fmt::format("{}:{}", to_string(kind), name);
}

Status is_name(RecordKind kind, std::string_view name) {
  Status good = check_name(name);
  return good ? good : good.error().with_context(to_string(kind));
}

Status takes_named(RecordKind kind, std::string_view name, std::uint64_t size,
                   const Capabilities& can) {
  const auto key = [&] { return named_key(kind, name); };
  if (!(kind == RecordKind::player ? can.players : can.globals)) {
    return cannot(key(), fmt::format("{}s", to_string(kind)), can);
  }
  return fits(size, key, can);
}

Status check_chunk(const ChunkChange& change, const Capabilities& can) {
  if (change.payload) return takes_chunk(change.pos, change.payload->size(), can);
  return is_position(change.pos, [&] { return to_string(change.pos); });
}

Status check_generator(const GeneratorId& id, const Capabilities& can) {
  if (!can.generator) return cannot("the generator " + id.name, "a generator", can);
  // Without a name is a fair choice; a name must be one.
  if (id.name.empty()) return {};
  if (Status good = check_name(id.name); !good) return good.error().with_context("generator");
  return {};
}

// --- Many ---------------------------------------------------------------------------

// So few are compared each with each sooner than a table is made of them.
constexpr std::size_t kCompareAllCountMax = 8;

// The first of two changes with the same key, or null. One flat table of indices: a set
// of nodes would cost more than all other checks together.
template <class Change, class KeyOf>
const Change* find_twice(const std::vector<Change>& changes, KeyOf key_of) {
  using Key = std::decay_t<decltype(key_of(changes.front()))>;
  if (changes.size() <= kCompareAllCountMax) {
    for (std::size_t i = 1; i < changes.size(); ++i) {
      for (std::size_t before = 0; before < i; ++before) {
        if (key_of(changes[before]) == key_of(changes[i])) return &changes[i];
      }
    }
    return nullptr;
  }
  const std::size_t mask = std::bit_ceil(changes.size() * 2) - 1;
  std::vector<std::uint32_t> slots(mask + 1, 0);  // 1 + index; 0 is free
  for (std::uint32_t i = 0; i < changes.size(); ++i) {
    std::size_t h = std::hash<Key>()(key_of(changes[i])) * std::size_t{0x9e37'79b9'7f4a'7c15};
    h ^= h >> 32;
    for (h &= mask; slots[h] != 0; h = (h + 1) & mask) {
      if (key_of(changes[slots[h] - 1]) == key_of(changes[i])) return &changes[i];
    }
    slots[h] = i + 1;
  }
  return nullptr;
}

Error twice(std::string_view key) {
  return invalid_argument(fmt::format("{} is twice in one commit", key));
}

Status check_chunks(const std::vector<ChunkChange>& changes, const Capabilities& can) {
  for (const ChunkChange& change : changes) VARVE_TRY(check_chunk(change, can));
  const auto* same = find_twice(changes, [](const auto& c) -> const ChunkPos& { return c.pos; });
  if (same != nullptr) return twice(to_string(same->pos));
  return {};
}

Status check_entities(const std::vector<EntityChange>& changes, const Capabilities& can) {
  for (const auto& [id, value] : changes) VARVE_TRY(check_entity(id, value, can));
  const auto* same = find_twice(changes, [](const auto& c) { return c.id; });
  if (same != nullptr) return twice(entity_key(same->id));
  return {};
}

Status check_all_named(RecordKind kind, const std::vector<NamedChange>& changes,
                       const Capabilities& can) {
  for (const auto& [name, data] : changes) VARVE_TRY(check_named(kind, name, data, can));
  const auto* same =
      find_twice(changes, [](const auto& c) -> const std::string& { return c.name; });
  if (same != nullptr) return twice(named_key(kind, same->name));
  return {};
}

}  // namespace

Error too_large(std::string_view key, std::uint64_t size, const Capabilities& can) {
  return unsupported(fmt::format("{}: {} bytes; the format {} takes at most {} in a record", key,
                                 size, can.format, can.payload_size_max));
}

Status check_position(const ChunkPos& pos, const Capabilities& can) {
  return or_out_of_memory([&]() -> Status {
    const auto key = [&] { return to_string(pos); };
    VARVE_TRY(is_position(pos, key));
    return can_be_at(pos, key, can);
  });
}

Status check_entity(EntityId id, const std::optional<EntityValue>& value, const Capabilities& can) {
  if (!value) return {};
  return or_out_of_memory([&] { return takes_entity(id, value->owner, value->data.size(), can); });
}

Status check_named(RecordKind kind, std::string_view name, const std::optional<Bytes>& data,
                   const Capabilities& can) {
  return or_out_of_memory([&]() -> Status {
    VARVE_TRY(is_name(kind, name));
    return data ? takes_named(kind, name, data->size(), can) : Status();
  });
}

Status check_record(const Capabilities& can, const RecordKey& key,
                    const std::optional<ChunkPos>& owner, std::uint64_t size) {
  return or_out_of_memory([&]() -> Status {
    switch (key.kind) {
      case RecordKind::chunk:
        return takes_chunk(key.pos, size, can);
      case RecordKind::entity:
        return takes_entity(key.id, owner, size, can);
      case RecordKind::player:
      case RecordKind::global:
        break;
    }
    VARVE_TRY(is_name(key.kind, key.name));
    return takes_named(key.kind, key.name, size, can);
  });
}

Status check_commit(const Commit& commit, const Capabilities& can, std::uint64_t store_tick) {
  return or_out_of_memory([&]() -> Status {
    if (commit.tick < store_tick) {
      return invalid_argument(fmt::format("the commit is of tick {}, but the save is at tick {}",
                                          commit.tick, store_tick));
    }
    VARVE_TRY(check_chunks(commit.chunks, can));
    VARVE_TRY(check_entities(commit.entities, can));
    VARVE_TRY(check_all_named(RecordKind::player, commit.players, can));
    VARVE_TRY(check_all_named(RecordKind::global, commit.globals, can));
    if (commit.generator) VARVE_TRY(check_generator(*commit.generator, can));
    if (commit.backup_count.value_or(0) > 0 && !can.backups) {
      return cannot(fmt::format("{} backups", *commit.backup_count), "backups", can);
    }
    return {};
  });
}

}  // namespace varve
