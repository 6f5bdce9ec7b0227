// Sixty-four entities with neighbouring indexes: the unit in which states share memory.
//
// Values are kept by component, those of one component side by side in the order of their entities:
// most of a tick is new values of a few components, and then an insert overwrites a few bytes in
// place. While all values of a column have one size they lie in one block; once one differs each
// has its own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "varve/tick.h"

namespace varve::journal {

class Column {
 public:
  explicit Column(ComponentId component) noexcept : component_(component) {}

  ComponentId component() const noexcept { return component_; }
  // A bit for each entity that has it.
  std::uint64_t owners() const noexcept { return owners_; }
  bool has(std::uint32_t slot) const noexcept { return (owners_ >> slot & 1) != 0; }
  // Which it must have.
  ByteView value(std::uint32_t slot) const noexcept {
    const std::size_t i = rank(slot);
    if (is_loose_) return loose_[i];
    return {cells_.data() + i * cell_size_, cell_size_};
  }

  void put(std::uint32_t slot, const Bytes& value);
  // Which it must have.
  void erase(std::uint32_t slot);

 private:
  std::size_t rank(std::uint32_t slot) const noexcept {
    return static_cast<std::size_t>(std::popcount(owners_ & ((std::uint64_t{1} << slot) - 1)));
  }
  void make_room(std::size_t value_size, bool is_alone);
  void loosen();

  ComponentId component_;
  bool is_loose_ = false;
  std::uint64_t owners_ = 0;
  std::size_t cell_size_ = 0;
  std::vector<std::byte> cells_;
  std::vector<Bytes> loose_;  // instead of cells, if is_loose_
};

// A copy of a small value: a slice would keep the whole tick it came with. Large ones are shared.
Bytes kept(const Bytes& value);

struct EntityPage {
  static constexpr std::uint32_t kCount = 64;

  std::uint64_t edit = 0;  // that made it; no other changes it
  // A bit for each entity: lives; lived once, perhaps now; cannot be handed out; has a chunk.
  std::uint64_t alive = 0;
  std::uint64_t used = 0;
  std::uint64_t taken = 0;
  std::uint64_t placed = 0;
  std::array<std::uint32_t, kCount> generations = {};  // the last that lived
  std::array<ChunkPos, kCount> chunks = {};
  std::vector<Column> columns;  // by rising component, none without an entity

  bool is_alive(EntityId entity) const noexcept {
    const std::uint32_t slot = slot_of(entity);
    return (alive >> slot & 1) != 0 && generations[slot] == entity_generation(entity);
  }
  std::optional<ByteView> find(std::uint32_t slot, ComponentId component) const noexcept;
  std::optional<ChunkPos> chunk(std::uint32_t slot) const noexcept {
    return (placed >> slot & 1) != 0 ? std::optional(chunks[slot]) : std::nullopt;
  }
  void put(std::uint32_t slot, ComponentId component, const Bytes& value);
  void erase(std::uint32_t slot, ComponentId component);
  void erase_all(std::uint32_t slot);

  static std::uint32_t slot_of(EntityId entity) noexcept { return entity_index(entity) % kCount; }

  // What they hold, not how.
  friend bool operator==(const EntityPage& a, const EntityPage& b) noexcept;
};

}  // namespace varve::journal
