#include "journal/page_tree.h"

namespace varve::journal {
namespace {

// The node itself if this edit made it, else a copy of it; a new one if there is none.
template <class Node>
Node& own_node(const MapEdit& edit, std::shared_ptr<void>& link) {
  auto* const node = static_cast<Node*>(link.get());
  if (node != nullptr && node->edit == edit.number()) return *node;
  auto made = node == nullptr ? std::make_shared<Node>() : std::make_shared<Node>(*node);
  made->edit = edit.number();
  Node& out = *made;
  link = std::move(made);
  return out;
}

}  // namespace

EntityPage& PageTree::own(const MapEdit& edit, std::uint32_t index) {
  while (index >> kBits >> (height_ * kBits) != 0) {
    if (root_) {
      auto above = std::make_shared<Branch>();
      above->edit = edit.number();
      above->full = lowest_free() == std::uint64_t{1} << (height_ + 1) * kBits ? 1 : 0;
      above->children[0] = root_;
      root_ = std::move(above);
    }
    ++height_;
  }
  Link* link = &root_;
  for (unsigned level = height_; level != 0; --level) {
    link = &own_node<Branch>(edit, *link).children[child_of(index, level)];
  }
  const bool is_new = *link == nullptr;
  auto& page = own_node<EntityPage>(edit, *link);
  // Index 0 is nobody's, so that no entity the allocator hands out is 0.
  if (is_new && index / EntityPage::kCount == 0) page.taken = 1;
  return page;
}

void PageTree::note_taken(std::uint32_t index) noexcept { note_taken(root_.get(), height_, index); }

// Whether everything below the node is taken.
bool PageTree::note_taken(void* node, unsigned level, std::uint32_t index) noexcept {
  if (level == 0) return ~static_cast<EntityPage*>(node)->taken == 0;
  auto& branch = *static_cast<Branch*>(node);
  const std::uint32_t child = child_of(index, level);
  const std::uint64_t bit = std::uint64_t{1} << child;
  if (note_taken(branch.children[child].get(), level - 1, index)) {
    branch.full |= bit;
  } else {
    branch.full &= ~bit;
  }
  return ~branch.full == 0;
}

std::optional<std::uint32_t> PageTree::lowest_free() const noexcept {
  const void* node = root_.get();
  std::uint64_t first = 0;
  for (unsigned level = height_; node != nullptr && level != 0; --level) {
    const auto& branch = *static_cast<const Branch*>(node);
    const auto child = static_cast<std::uint64_t>(std::countr_one(branch.full));
    first += child << level * kBits;
    node = child < branch.children.size() ? branch.children[child].get() : nullptr;
  }
  if (node != nullptr) {
    first +=
        static_cast<std::uint64_t>(std::countr_one(static_cast<const EntityPage*>(node)->taken));
  }
  if (first == 0) return 1;
  if (first > 0xffff'ffff) return std::nullopt;
  return static_cast<std::uint32_t>(first);
}

bool PageTree::equal_nodes(const void* a, const void* b, unsigned level) noexcept {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  if (level == 0) return *static_cast<const EntityPage*>(a) == *static_cast<const EntityPage*>(b);
  const auto& left = static_cast<const Branch*>(a)->children;
  const auto& right = static_cast<const Branch*>(b)->children;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!equal_nodes(left[i].get(), right[i].get(), level - 1)) return false;
  }
  return true;
}

// The height follows from the largest index that was ever used, so equal trees have equal heights.
bool operator==(const PageTree& a, const PageTree& b) noexcept {
  return a.height_ == b.height_ && PageTree::equal_nodes(a.root_.get(), b.root_.get(), a.height_);
}

}  // namespace varve::journal
