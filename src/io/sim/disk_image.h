// A tree of directories and files as a value: what a disk holds at one moment.
//
// Copies share everything and are copied apart by the node. Files and directories
// are known by their node number, as on a real disk, so that names and contents
// can become durable independently of each other. An image and its copies belong to
// one thread at a time: what they share is counted without fences.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/sim/paged_content.h"

namespace varve::sim {

using NodeId = std::uint32_t;
inline constexpr NodeId kRootNode = 0;

struct Node {
  using Entry = std::pair<std::string, NodeId>;

  bool is_dir = false;
  PagedContent content;        // of a file
  std::vector<Entry> entries;  // of a directory, sorted by name

  std::optional<NodeId> find(std::string_view name) const;
  void add(std::string_view name, NodeId node);  // replaces an entry of that name
  void remove(std::string_view name);            // no effect if there is none
};

// Where a name is: the directory that holds it and the name in it.
struct Place {
  NodeId dir = kRootNode;
  std::string name;
};

class DiskImage {
 public:
  DiskImage();  // A root directory with nothing in it.

  const Node* node(NodeId id) const { return id < nodes_.size() ? nodes_[id].get() : nullptr; }
  // For writing: copied apart first if another image shares it. Must exist.
  Node& edit(NodeId id);
  // Puts a new, empty node at `id`, which must not be in use.
  void create(NodeId id, bool is_dir);
  NodeId next_id() const { return static_cast<NodeId>(nodes_.size()); }

  // The node at a path. "/a/b", "a/b" and "./a/b" are the same: there is one root
  // and no other current directory. ".." is not known here.
  std::optional<NodeId> find(std::string_view path) const;
  // The place a path names, which need not exist; nullopt if its directory doesn't.
  std::optional<Place> place(std::string_view path) const;

  // The sum of the sizes of all files that have a name, one of them left out.
  std::uint64_t used_size_without(std::optional<NodeId> left_out) const;

 private:
  std::vector<std::shared_ptr<Node>> nodes_;
};

}  // namespace varve::sim
