// The groups of an index in the order of their prefixes: a tree of references.
//
// Prefixes are compared byte by byte, the shorter first. A tree that runs out of memory in the
// middle of an insertion is no tree any more, so memory for the next one is set aside before.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "backend/log/index_arena.h"

namespace varve::log {

class GroupOrder {
 public:
  // Of all groups there are. The arena must outlive the order.
  explicit GroupOrder(const GroupArena& arena);
  ~GroupOrder();

  // Throws std::bad_alloc, or makes sure that the next insert() needs no memory it might not get.
  void prepare();
  void insert(GroupRef ref) noexcept;
  void erase(GroupRef ref) noexcept;
  // `to` is a copy of `from`, and both are there.
  void replace(GroupRef from, GroupRef to) noexcept;

  // References to groups whose prefix is not below `prefix`, rising, until `use` returns false.
  void for_each_from(ByteView prefix, const std::function<bool(GroupRef)>& use) const;

  std::size_t memory_size() const noexcept;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace varve::log
