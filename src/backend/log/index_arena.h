// The memory of an index's groups.
//
// Groups come and go in hundreds of sizes, and one that grows moves: a region that fills up in
// random order would leave several times its size behind. So this memory is of blocks, a part
// that was left is used for what fits in it, and when too much is free in pieces, the emptiest
// block is emptied by moving its groups. What a group is called changes then; whoever keeps
// references is told. At most about a fifth of the memory is free.
//
// Blocks are parts of slabs, which grow with the memory there is up to a huge page: small worlds
// pay for little, large ones are found fast.
//
// A reference counts units of 4 bytes, so that it is 4 bytes itself and 16 GiB can be named.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/log/index_group.h"
#include "backend/log/index_memory.h"

namespace varve::log {

using GroupRef = std::uint32_t;

class GroupArena {
 public:
  static constexpr std::size_t kUnit = 4;
  static constexpr unsigned kBlockShift = 13;
  static constexpr std::uint32_t kBlockUnits = 1u << kBlockShift;

  GroupArena() noexcept;

  Group at(GroupRef ref) const noexcept { return Group(bytes_at(ref)); }

  // Memory for a group of that size. Throws std::bad_alloc with nothing changed.
  GroupRef allocate(std::size_t size);
  // Gives back what allocate() gave for that size.
  void release(GroupRef ref, std::size_t size) noexcept;
  // Gives back the end of a group that became smaller.
  void shrink(GroupRef ref, std::size_t size_before, std::size_t size) noexcept;

  std::size_t memory_size() const noexcept;

  // In the order in which memory lies, which is fast; for groups that were all made in
  // a row it is the order in which they were made.
  template <class Use>
  void for_each(const Use& use) const {
    for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
      for_each_in(number, [&](GroupRef ref, std::uint32_t, bool is_free) {
        if (!is_free) use(ref);
      });
    }
  }

  // Whether clean() would do something.
  bool is_untidy() const noexcept {
    return used_units_ - live_units_ > live_units_ / 4 + 2 * kBlockUnits;
  }
  // Empties one block, and calls moved(from, to) for each group in it, when both places hold it.
  // Does nothing if there is no memory to move to.
  template <class Moved>
  void clean(const Moved& moved) noexcept {
    if (!is_untidy() || !prepare_block()) return;
    const std::uint32_t number = emptiest_block();
    unlink_all(number);
    for_each_in(number, [&](GroupRef from, std::uint32_t, bool is_free) {
      if (!is_free) moved(from, copy(from));
    });
    drop(number);
  }

 private:
  struct Slab {
    IndexMemory memory;
    std::uint32_t block_count = 0;
    std::uint32_t free_count = 0;  // of its blocks that hold nothing
  };
  // In units. One that is not in use has used none, and `next` is another one like it: of
  // those with bytes, or of the numbers that have none.
  struct Block {
    std::uint32_t used = 0;
    std::uint32_t live = 0;
    std::uint32_t slab = 0;
    std::uint32_t next = 0;
  };

  // What is free starts with a byte that no group starts with, and its size. From 3 units on it is
  // in the list of its size; what no group could fill is in the last list.
  static constexpr std::byte kFreeMark{0xff};
  static constexpr std::uint32_t kListedUnitsMin = 3;
  static constexpr std::uint32_t kGroupUnitsMax =
      (Group::size_of(kKeySizeMax - 1, kTagCount) + kUnit - 1) / kUnit;
  static constexpr std::uint32_t kListCount = kGroupUnitsMax + 2;
  static constexpr GroupRef kNone = ~GroupRef{0};
  static constexpr std::uint32_t units_of(std::size_t size) noexcept {
    return static_cast<std::uint32_t>((size + kUnit - 1) / kUnit);
  }

  std::byte* bytes_at(GroupRef ref) const noexcept {
    return bytes_[ref >> kBlockShift] + (ref & (kBlockUnits - 1)) * kUnit;
  }
  std::uint32_t free_units_at(GroupRef ref) const noexcept {
    return load_le<std::uint16_t>(bytes_at(ref) + 2);
  }

  template <class Use>
  void for_each_in(std::uint32_t number, const Use& use) const {
    const std::uint32_t used = blocks_[number].used;
    for (std::uint32_t unit = 0; unit < used;) {
      const GroupRef ref = (number << kBlockShift) + unit;
      const bool is_free = *bytes_at(ref) == kFreeMark;
      const std::uint32_t units = is_free ? free_units_at(ref) : units_of(at(ref).size());
      use(ref, units, is_free);
      unit += units;
    }
  }

  GroupRef take_free(std::uint32_t units) noexcept;
  GroupRef copy(GroupRef from) noexcept;
  void add_free(GroupRef ref, std::uint32_t units) noexcept;
  void link(GroupRef ref, std::uint32_t units) noexcept;
  void unlink(GroupRef ref) noexcept;
  void unlink_all(std::uint32_t number) noexcept;
  void drop(std::uint32_t number) noexcept;
  void drop_slab(std::uint32_t slab) noexcept;
  void add_slab();
  void use_new_block();
  void close_current() noexcept;
  bool prepare_block() noexcept;
  std::uint32_t emptiest_block() const noexcept;

  // Where each block lies; apart from the rest, since every look-up asks.
  std::vector<std::byte*> bytes_;
  std::vector<Block> blocks_;
  std::vector<Slab> slabs_;
  std::size_t slabs_size_ = 0;
  std::uint32_t free_block_ = kNone;   // the first of those with bytes
  std::uint32_t free_number_ = kNone;  // the first of those without
  std::uint32_t block_in_use_count_ = 0;
  // The block whose end is not yet used; kNone at first.
  std::uint32_t current_ = kNone;
  std::uint64_t used_units_ = 0;
  std::uint64_t live_units_ = 0;
  std::size_t listed_count_ = 0;
  std::array<GroupRef, kListCount> lists_;
  std::array<std::uint64_t, (kListCount + 63) / 64> filled_{};
};

}  // namespace varve::log
