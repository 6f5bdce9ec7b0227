#include "io/sim/disk_image.h"

#include <algorithm>
#include <set>

namespace varve::sim {
namespace {

auto lower_bound(auto& entries, std::string_view name) {
  return std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const Node::Entry& entry, std::string_view wanted) { return entry.first < wanted; });
}

// Splits off the first component; empty when nothing is left.
std::string_view next_component(std::string_view& path) {
  for (;;) {
    while (!path.empty() && path.front() == '/') path.remove_prefix(1);
    const std::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(component.size());
    if (component != ".") return component;
  }
}

}  // namespace

std::optional<NodeId> Node::find(std::string_view name) const {
  const auto it = lower_bound(entries, name);
  if (it == entries.end() || it->first != name) return std::nullopt;
  return it->second;
}

void Node::add(std::string_view name, NodeId node) {
  const auto it = lower_bound(entries, name);
  if (it != entries.end() && it->first == name) {
    it->second = node;
  } else {
    entries.emplace(it, name, node);
  }
}

void Node::remove(std::string_view name) {
  const auto it = lower_bound(entries, name);
  if (it != entries.end() && it->first == name) entries.erase(it);
}

DiskImage::DiskImage() { create(kRootNode, true); }

Node& DiskImage::edit(NodeId id) {
  std::shared_ptr<Node>& node = nodes_[id];
  if (node.use_count() > 1) node = std::make_shared<Node>(*node);
  return *node;
}

void DiskImage::create(NodeId id, bool is_dir) {
  if (id >= nodes_.size()) nodes_.resize(id + 1);
  nodes_[id] = std::make_shared<Node>();
  nodes_[id]->is_dir = is_dir;
}

std::optional<NodeId> DiskImage::find(std::string_view path) const {
  NodeId at = kRootNode;
  for (;;) {
    const std::string_view component = next_component(path);
    if (component.empty()) return at;
    const Node* dir = node(at);
    if (dir == nullptr || !dir->is_dir) return std::nullopt;
    const auto child = dir->find(component);
    if (!child) return std::nullopt;
    at = *child;
  }
}

std::optional<Place> DiskImage::place(std::string_view path) const {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const auto slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == ".") return std::nullopt;
  const auto dir = slash == std::string_view::npos ? kRootNode : find(path.substr(0, slash));
  if (!dir || node(*dir) == nullptr || !node(*dir)->is_dir) return std::nullopt;
  return Place{*dir, std::string(name)};
}

std::uint64_t DiskImage::used_size_without(std::optional<NodeId> left_out) const {
  std::set<NodeId> seen;
  std::vector<NodeId> to_visit{kRootNode};
  std::uint64_t total = 0;
  while (!to_visit.empty()) {
    const NodeId id = to_visit.back();
    to_visit.pop_back();
    const Node* visited = node(id);
    if (visited == nullptr || !seen.insert(id).second) continue;
    if (id != left_out) total += visited->content.size();
    for (const auto& [name, child] : visited->entries) to_visit.push_back(child);
  }
  return total;
}

}  // namespace varve::sim
