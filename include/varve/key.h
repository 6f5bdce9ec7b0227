// What records are called.
//
// A world holds four kinds of records: chunks by position, entities by id, players
// by id and globals by name. The same names are used by the library, in messages and on
// the command line:
//
//   chunk:3,-2              the default space
//   chunk:the_nether/3,-2   another space
//   entity:17  player:5f3a  global:weather
//
// Names (of spaces, players, globals and components) are UTF-8 of 1 to 255 bytes without
// control characters. Nothing else is special: dots, blanks, slashes and ".." are parts of
// a name, and a format that makes files of names must escape them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "varve/result.h"

namespace varve {

inline constexpr std::size_t kNameSizeMax = 255;

// Success if `name` may name a space, a player, a global or a component; the error says
// what is wrong with it.
Status check_name(std::string_view name);

// A dimension of the world: overworld, nether, a planet. A small number that stands
// for a name; the same name gives the same Space everywhere in this process. The
// default space has the empty name and needs no making.
class Space {
 public:
  constexpr Space() = default;

  // The space with this name. A process knows at most 65,536: a save that names
  // more is refused.
  static Result<Space> named(std::string_view name);

  std::string_view name() const noexcept;
  std::uint32_t id() const noexcept { return id_; }

  friend bool operator==(Space a, Space b) noexcept { return a.id_ == b.id_; }
  // By name, so that listings are the same in every process.
  friend std::strong_ordering operator<=>(Space a, Space b) noexcept;

 private:
  constexpr explicit Space(std::uint32_t id) : id_(id) {}

  std::uint32_t id_ = 0;
};

inline constexpr std::size_t kCoordinateCountMax = 4;

// Where a chunk is: a space and one to four coordinates, counted in chunks. How many a
// world uses is its own affair, but (1, 2) and (1, 2, 0) are different positions.
struct ChunkPos {
  Space space = {};
  std::uint8_t coordinate_count = 2;
  // Those from coordinate_count on are 0.
  std::array<std::int32_t, kCoordinateCountMax> coordinates = {};

  constexpr ChunkPos() = default;
  constexpr explicit ChunkPos(std::int32_t x) : coordinate_count(1), coordinates{x} {}
  constexpr ChunkPos(std::int32_t x, std::int32_t y) : coordinate_count(2), coordinates{x, y} {}
  constexpr ChunkPos(std::int32_t x, std::int32_t y, std::int32_t z)
      : coordinate_count(3), coordinates{x, y, z} {}
  constexpr ChunkPos(std::int32_t x, std::int32_t y, std::int32_t z, std::int32_t w)
      : coordinate_count(4), coordinates{x, y, z, w} {}

  // The same place in another space: ChunkPos(3, -2).in(nether).
  constexpr ChunkPos in(Space other) const noexcept {
    ChunkPos pos = *this;
    pos.space = other;
    return pos;
  }

  constexpr std::int32_t operator[](std::size_t axis) const noexcept { return coordinates[axis]; }

  friend bool operator==(const ChunkPos&, const ChunkPos&) = default;
  // By space, then number of coordinates, then the coordinates in their order.
  friend std::strong_ordering operator<=>(const ChunkPos&, const ChunkPos&) = default;
};

// All positions of one space between two corners, both included.
struct ChunkBox {
  ChunkPos min = {};
  ChunkPos max = {};

  // False for every position of another space or with another number of coordinates.
  bool contains(const ChunkPos& pos) const noexcept;

  friend bool operator==(const ChunkBox&, const ChunkBox&) = default;
};

// Stable for the life of a save. World::new_entity_id() makes them.
using EntityId = std::uint64_t;

// "chunk:the_nether/3,-2" and so on. Parsing refuses what it cannot print back.
std::string to_string(const ChunkPos& pos);
std::string entity_key(EntityId id);
std::string player_key(std::string_view id);
std::string global_key(std::string_view name);

enum class RecordKind : std::uint8_t { chunk, entity, player, global };
std::string_view to_string(RecordKind kind) noexcept;  // "chunk", "entity", ...

// A name taken apart. Of the three fields the one that belongs to the kind counts.
struct RecordKey {
  RecordKind kind = RecordKind::chunk;
  ChunkPos pos = {};      // of a chunk
  EntityId id = 0;        // of an entity
  std::string name = {};  // of a player or a global

  friend bool operator==(const RecordKey&, const RecordKey&) = default;
};

Result<RecordKey> parse_record_key(std::string_view text);
std::string to_string(const RecordKey& key);

}  // namespace varve

template <>
struct std::hash<varve::ChunkPos> {
  std::size_t operator()(const varve::ChunkPos& pos) const noexcept {
    // Neighbouring chunks differ in a few low bits; each multiplication spreads them
    // over the whole word. The fold at the end brings the high half down, since
    // tables look at low bits.
    constexpr std::uint64_t kMix = 0x9e37'79b9'7f4a'7c15;
    std::uint64_t h = (std::uint64_t{pos.space.id()} << 8 | pos.coordinate_count) * kMix;
    for (const std::int32_t c : pos.coordinates)
      h = ((h ^ (h >> 29)) + static_cast<std::uint32_t>(c)) * kMix;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
};
