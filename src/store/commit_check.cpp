#include "store/commit_check.h"

#include <fmt/format.h>

#include <bit>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

std::string key_of(const ChunkChange& change) { return to_string(change.pos); }
std::string key_of(const EntityChange& change) { return entity_key(change.id); }

// The first of two changes with the same key, or null. One flat table of indices: a set
// of nodes would cost more than all other checks together.
template <class Change, class KeyOf>
const Change* find_twice(const std::vector<Change>& changes, KeyOf key_of) {
  using Key = std::decay_t<decltype(key_of(changes.front()))>;
  if (changes.size() < 2) return nullptr;
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

class Checker {
 public:
  explicit Checker(const Capabilities& can) : can_(can) {}

  Status chunks(const std::vector<ChunkChange>& changes) const {
    for (const ChunkChange& change : changes) {
      VARVE_TRY(is_position(change.pos, change));
      if (!change.payload) continue;
      VARVE_TRY(can_be_at(change.pos, change));
      VARVE_TRY(size(change.payload->size(), change));
    }
    const auto* same = find_twice(changes, [](const auto& c) -> const ChunkPos& { return c.pos; });
    if (same != nullptr) return twice(key_of(*same));
    return {};
  }

  Status entities(const std::vector<EntityChange>& changes) const {
    for (const EntityChange& change : changes) {
      if (!change.value) continue;
      if (!can_.entities) return cannot(key_of(change), "entities");
      if (change.value->owner) {
        VARVE_TRY(is_position(*change.value->owner, change));
        VARVE_TRY(can_be_at(*change.value->owner, change));
      } else if (!can_.entities_without_owner) {
        return cannot(key_of(change), "entities without an owner");
      }
      VARVE_TRY(size(change.value->data.size(), change));
    }
    const auto* same = find_twice(changes, [](const auto& c) { return c.id; });
    if (same != nullptr) return twice(key_of(*same));
    return {};
  }

  Status named(const std::vector<NamedChange>& changes, RecordKind kind, bool can) const {
    for (const NamedChange& change : changes) {
      if (Status good = check_name(change.name); !good) {
        return good.error().with_context(to_string(kind));
      }
      if (!change.data) continue;
      if (!can) return cannot(key_of(change, kind), fmt::format("{}s", to_string(kind)));
      if (change.data->size() > can_.payload_size_max) {
        return too_large(key_of(change, kind), change.data->size());
      }
    }
    const auto* same =
        find_twice(changes, [](const auto& c) -> const std::string& { return c.name; });
    if (same != nullptr) return twice(key_of(*same, kind));
    return {};
  }

  Status generator(const GeneratorId& id) const {
    if (!can_.generator) return cannot("the generator " + id.name, "a generator");
    // Without a name is a fair choice; a name must be one.
    if (id.name.empty()) return {};
    if (Status good = check_name(id.name); !good) return good.error().with_context("generator");
    return {};
  }

  Status backups(std::uint32_t count) const {
    if (count > 0 && !can_.backups) return cannot(fmt::format("{} backups", count), "backups");
    return {};
  }

 private:
  static std::string key_of(const NamedChange& change, RecordKind kind) {
    return fmt::format("{}:{}", to_string(kind), change.name);
  }
  template <class Change>
  static std::string key_of(const Change& change) {
    return varve::key_of(change);
  }

  // Messages are made only where something is wrong: this runs for every record.
  template <class Change>
  Status is_position(const ChunkPos& pos, const Change& change) const {
    bool good = pos.coordinate_count >= 1 && pos.coordinate_count <= kCoordinateCountMax;
    for (std::size_t i = pos.coordinate_count; i < kCoordinateCountMax; ++i) {
      good = good && pos.coordinates[i] == 0;
    }
    if (good) return {};
    return invalid_argument(fmt::format(
        "{}: a position has 1 to {} coordinates, and those beyond its count of {} are 0",
        key_of(change), kCoordinateCountMax, pos.coordinate_count));
  }

  template <class Change>
  Status can_be_at(const ChunkPos& pos, const Change& change) const {
    if (pos.coordinate_count < can_.coordinate_count_min ||
        pos.coordinate_count > can_.coordinate_count_max) {
      return unsupported(fmt::format(
          "{}: the format {} takes positions of {} to {} coordinates, not {}", key_of(change),
          can_.format, can_.coordinate_count_min, can_.coordinate_count_max, pos.coordinate_count));
    }
    if (!can_.spaces && pos.space != Space()) {
      return cannot(key_of(change), "spaces other than the default one");
    }
    return {};
  }

  template <class Change>
  Status size(std::uint64_t size, const Change& change) const {
    if (size > can_.payload_size_max) return too_large(key_of(change), size);
    return {};
  }

  Error too_large(std::string_view key, std::uint64_t size) const {
    return unsupported(fmt::format("{}: {} bytes; the format {} takes at most {} in a record", key,
                                   size, can_.format, can_.payload_size_max));
  }
  Error cannot(std::string_view key, std::string_view what) const {
    return unsupported(fmt::format("{}: the format {} cannot keep {}", key, can_.format, what));
  }

  const Capabilities& can_;
};

}  // namespace

Status check_commit(const Commit& commit, const Capabilities& capabilities,
                    std::uint64_t store_tick) {
  return or_out_of_memory([&]() -> Status {
    if (commit.tick < store_tick) {
      return invalid_argument(fmt::format("the commit is of tick {}, but the save is at tick {}",
                                          commit.tick, store_tick));
    }
    const Checker check(capabilities);
    VARVE_TRY(check.chunks(commit.chunks));
    VARVE_TRY(check.entities(commit.entities));
    VARVE_TRY(check.named(commit.players, RecordKind::player, capabilities.players));
    VARVE_TRY(check.named(commit.globals, RecordKind::global, capabilities.globals));
    if (commit.generator) VARVE_TRY(check.generator(*commit.generator));
    if (commit.backup_count) VARVE_TRY(check.backups(*commit.backup_count));
    return {};
  });
}

}  // namespace varve
