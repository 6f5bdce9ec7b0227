// The pages of a state by index: a tree of shared nodes, sixty-four ways at each level and only as
// high as the largest index needs.
//
// Invariants: 1. a node is changed only under the edit that made it (see MapEdit in
// base/persistent_map.h), so never once a copy of the tree may show it; 2. a bit of `full` is set
// if and only if every index below that child is taken, so that the lowest free one is found in one
// descent.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/persistent_map.h"
#include "journal/entity_page.h"

namespace varve::journal {

class PageTree {
 public:
  // The page of an index; null if no entity ever had one there.
  const EntityPage* find(std::uint32_t index) const noexcept {
    if (!root_ || index >> kBits >> (height_ * kBits) != 0) return nullptr;
    const void* node = root_.get();
    for (unsigned level = height_; level != 0; --level) {
      node = static_cast<const Branch*>(node)->children[child_of(index, level)].get();
      if (node == nullptr) return nullptr;
    }
    return static_cast<const EntityPage*>(node);
  }

  // The page of an index to be changed under `edit`, made if it is not there.
  EntityPage& own(const MapEdit& edit, std::uint32_t index);
  // To be called after `taken` of that page has changed, under the same edit.
  void note_taken(std::uint32_t index) noexcept;

  // From 1; nullopt if there is none.
  std::optional<std::uint32_t> lowest_free() const noexcept;

  // Calls visit(first index, page) by rising index until it returns false. False if it did.
  template <class Visit>
  bool visit(Visit&& visit) const {
    return !root_ || visit_node(root_.get(), height_, 0, visit);
  }

  // Whether they hold the same. What both share is not looked at.
  friend bool operator==(const PageTree& a, const PageTree& b) noexcept;

 private:
  static constexpr unsigned kBits = 6;
  using Link = std::shared_ptr<void>;  // of a Branch, or of an EntityPage at level 0
  struct Branch {
    std::uint64_t edit = 0;
    std::uint64_t full = 0;
    std::array<Link, EntityPage::kCount> children = {};
  };

  static std::uint32_t child_of(std::uint32_t index, unsigned level) noexcept {
    return index >> level * kBits & 63;
  }
  static bool note_taken(void* node, unsigned level, std::uint32_t index) noexcept;
  static bool equal_nodes(const void* a, const void* b, unsigned level) noexcept;

  template <class Visit>
  static bool visit_node(const void* node, unsigned level, std::uint32_t first, Visit& visit) {
    if (level == 0) return visit(first, *static_cast<const EntityPage*>(node));
    const auto& children = static_cast<const Branch*>(node)->children;
    for (std::uint32_t i = 0; i < children.size(); ++i) {
      if (children[i] != nullptr &&
          !visit_node(children[i].get(), level - 1, first + (i << level * kBits), visit)) {
        return false;
      }
    }
    return true;
  }

  Link root_;
  unsigned height_ = 0;
};

}  // namespace varve::journal
