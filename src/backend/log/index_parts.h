// What an index is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/log/index.h"
#include "backend/log/index_arena.h"
#include "backend/log/index_order.h"
#include "backend/log/index_table.h"

namespace varve::log {

// A key and what finds it.
struct SplitKey {
  explicit SplitKey(ByteView key) noexcept
      : prefix(key.first(key.size() - 1)), tag(key.back()), hash(hash_of(prefix)) {}

  ByteView prefix;
  std::byte tag;
  std::uint64_t hash;
};

struct Index::Parts {
  GroupRef find_group(const SplitKey& key) const noexcept {
    return table.find(arena, key.prefix, key.hash);
  }
  // Null if the key is not there. How many look-ups wait for memory at one time is a question of
  // how few instructions each has, so that the usual key has a way without calls.
  std::byte* find_place(ByteView key) const noexcept {
    if (!is_two_words(key.size() - 1)) return find_any_place(key);
    const SplitKey split(key);
    const GroupRef ref = find_group(split);
    return ref == GroupTable::kNone ? nullptr : arena.at(ref).find(split.prefix.size(), split.tag);
  }
  std::byte* find_any_place(ByteView key) const noexcept;

  void add_group(const SplitKey& key, const Location& location);
  void add_entry(GroupRef ref, const SplitKey& key, const Location& location);
  // Moves groups together if too much memory is free between them.
  void tidy() noexcept;

  GroupArena arena;
  GroupTable table;
  std::unique_ptr<GroupOrder> order;
  std::size_t count = 0;
  // How many groups have a prefix of each size: what is not there need not be looked for.
  std::array<std::uint32_t, kKeySizeMax> group_counts{};
};

}  // namespace varve::log
