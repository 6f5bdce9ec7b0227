// An ordered map whose older versions stay readable.
//
// A balanced (AVL) tree of shared nodes. A copy of the map takes O(1) and shares every
// node; a change copies the nodes on its way down and leaves all others shared. So a
// generation of a world is one copy of a map, a commit costs what it changes, nobody
// needs a lock to read, and what no copy shows any more is gone with the last of them.
//
// Invariants: 1. keys rise from left to right; 2. the heights of two siblings differ by
// at most one, so that recursion is shallow whatever the keys are; 3. a node is changed
// only under the edit that made it, so never once another thread can see it.
//
// Thread safety: a map that is not changed may be read and copied from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace varve {

// A group of changes to maps nobody else sees yet. Nodes made under it are changed in
// place until it ends. Once it does, the maps may be shown to others.
class MapEdit {
 public:
  MapEdit() : number_(next_.fetch_add(1, std::memory_order_relaxed)) {}
  MapEdit(const MapEdit&) = delete;
  MapEdit& operator=(const MapEdit&) = delete;
  std::uint64_t number() const noexcept { return number_; }

 private:
  static inline std::atomic<std::uint64_t> next_ = 1;
  std::uint64_t number_;
};

template <class Key, class Value>
class PersistentMap {
 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // Bytes of memory each entry takes here, besides what keys and values refer to.
  static constexpr std::size_t node_size() noexcept { return sizeof(Node); }

  // The value of `key`, valid while a copy of this map exists; null if there is none.
  template <class Wanted>
  const Value* find(const Wanted& key) const noexcept {
    const Node* node = root_.get();
    while (node != nullptr) {
      const auto order = key <=> node->key;
      if (order == 0) return &node->value;
      node = order < 0 ? node->left.get() : node->right.get();
    }
    return nullptr;
  }

  // Calls visit(key, value) in the order of the keys, from the first that is not below
  // `from`, until it returns false. False if it did.
  template <class From, class Visit>
  bool visit_from(const From& from, Visit&& visit) const {
    return visit_from(root_.get(), from, visit);
  }
  template <class Visit>
  bool visit(Visit&& visit) const {
    return visit_all(root_.get(), visit);
  }

  // After an exception (out of memory) this map is good for nothing but its
  // destructor; copies made before the edit are untouched.
  void put(const MapEdit& edit, Key key, Value value) {
    bool added = false;
    root_ = put(edit, root_, key, value, added);
    size_ += added ? 1 : 0;
  }
  // Whether it was there.
  template <class Wanted>
  bool erase(const MapEdit& edit, const Wanted& key) {
    if (find(key) == nullptr) return false;
    root_ = erased(edit, root_, key);
    --size_;
    return true;
  }

 private:
  struct Node;
  using Link = std::shared_ptr<Node>;
  struct Node {
    Node(std::uint64_t edit_number, Key k, Value v)
        : key(std::move(k)), value(std::move(v)), edit(edit_number) {}
    Key key;
    Value value;
    Link left;
    Link right;
    std::uint64_t edit;
    int height = 1;
  };

  static int height(const Link& node) noexcept { return node ? node->height : 0; }

  // The node itself if this edit made it, else a copy of it.
  static Link own(const MapEdit& edit, const Link& node) {
    if (node->edit == edit.number()) return node;
    Link copy = std::make_shared<Node>(*node);
    copy->edit = edit.number();
    return copy;
  }

  static Link put(const MapEdit& edit, const Link& at, Key& key, Value& value, bool& added) {
    if (!at) {
      added = true;
      return std::make_shared<Node>(edit.number(), std::move(key), std::move(value));
    }
    const auto order = key <=> at->key;
    Link node = own(edit, at);
    if (order == 0) {
      node->value = std::move(value);
      return node;
    }
    Link& side = order < 0 ? node->left : node->right;
    side = put(edit, side, key, value, added);
    return balanced(edit, std::move(node));
  }

  // `key` is there.
  template <class Wanted>
  static Link erased(const MapEdit& edit, const Link& at, const Wanted& key) {
    const auto order = key <=> at->key;
    if (order == 0 && !at->left) return at->right;
    if (order == 0 && !at->right) return at->left;
    Link node = own(edit, at);
    if (order == 0) {
      const Node* next = node->right.get();
      while (next->left) next = next->left.get();
      node->key = next->key;
      node->value = next->value;
      node->right = without_first(edit, node->right);
    } else {
      Link& side = order < 0 ? node->left : node->right;
      side = erased(edit, side, key);
    }
    return balanced(edit, std::move(node));
  }

  static Link without_first(const MapEdit& edit, const Link& at) {
    if (!at->left) return at->right;
    Link node = own(edit, at);
    node->left = without_first(edit, node->left);
    return balanced(edit, std::move(node));
  }

  static void measure(Node& node) noexcept {
    node.height = 1 + std::max(height(node.left), height(node.right));
  }

  // The four below get nodes they own.
  static Link balanced(const MapEdit& edit, Link node) {
    const int lean = height(node->left) - height(node->right);
    if (lean > 1) {
      node->left = own(edit, node->left);
      if (height(node->left->left) < height(node->left->right)) {
        node->left = rotated_left(edit, node->left);
      }
      return rotated_right(edit, std::move(node));
    }
    if (lean < -1) {
      node->right = own(edit, node->right);
      if (height(node->right->right) < height(node->right->left)) {
        node->right = rotated_right(edit, node->right);
      }
      return rotated_left(edit, std::move(node));
    }
    measure(*node);
    return node;
  }
  static Link rotated_right(const MapEdit& edit, Link node) {
    Link top = own(edit, node->left);
    node->left = std::move(top->right);
    measure(*node);
    top->right = std::move(node);
    measure(*top);
    return top;
  }
  static Link rotated_left(const MapEdit& edit, Link node) {
    Link top = own(edit, node->right);
    node->right = std::move(top->left);
    measure(*node);
    top->left = std::move(node);
    measure(*top);
    return top;
  }

  template <class From, class Visit>
  static bool visit_from(const Node* node, const From& from, Visit& visit) {
    if (node == nullptr) return true;
    if ((node->key <=> from) < 0) return visit_from(node->right.get(), from, visit);
    return visit_from(node->left.get(), from, visit) && visit(node->key, node->value) &&
           visit_all(node->right.get(), visit);
  }
  template <class Visit>
  static bool visit_all(const Node* node, Visit& visit) {
    if (node == nullptr) return true;
    return visit_all(node->left.get(), visit) && visit(node->key, node->value) &&
           visit_all(node->right.get(), visit);
  }

  Link root_;
  std::size_t size_ = 0;
};

}  // namespace varve
