#include "io/sim/disk_op.h"

#include <fmt/format.h>

namespace varve::sim {
namespace {

std::string describe_success(const DiskOp& op) {
  switch (op.kind) {
    case OpKind::read:
      return fmt::format("read node {} offset {} size {}", op.node, op.offset, op.size);
    case OpKind::create:
      return fmt::format("create {} as node {}", op.place.name, op.node);
    case OpKind::make_dir:
      return fmt::format("make directory {} as node {}", op.place.name, op.node);
    case OpKind::write:
      return fmt::format("write node {} offset {} size {}", op.node, op.offset, op.data.size());
    case OpKind::set_size:
      return fmt::format("set size of node {} to {}", op.node, op.size);
    case OpKind::sync_file:
      return fmt::format("sync node {}", op.node);
    case OpKind::sync_dir:
      return fmt::format("sync directory node {}", op.node);
    case OpKind::link:
      return fmt::format("link node {} as {}", op.node, op.place.name);
    case OpKind::rename:
      return fmt::format("rename node {} from {} to {}", op.node, op.place.name, op.place2.name);
    case OpKind::exchange:
      return fmt::format("exchange {} and {}", op.place.name, op.place2.name);
    case OpKind::remove:
      return fmt::format("remove {}", op.place.name);
    case OpKind::mark:
      return fmt::format("mark {}", op.value);
  }
  return "unknown";
}

}  // namespace

bool apply_op(DiskImage& image, const DiskOp& op) {
  const auto is_file = [&](NodeId id) {
    const Node* node = image.node(id);
    return node != nullptr && !node->is_dir;
  };
  const auto is_dir = [&](NodeId id) {
    const Node* node = image.node(id);
    return node != nullptr && node->is_dir;
  };
  const auto holds = [&](const Place& place, NodeId id) {
    return is_dir(place.dir) && image.node(place.dir)->find(place.name) == id;
  };
  switch (op.kind) {
    case OpKind::read:
    case OpKind::mark:
      return true;
    case OpKind::create:
    case OpKind::make_dir:
      if (!is_dir(op.place.dir) || image.node(op.node) != nullptr) return false;
      image.create(op.node, op.kind == OpKind::make_dir);
      image.edit(op.place.dir).add(op.place.name, op.node);
      return true;
    case OpKind::write:
      if (!is_file(op.node)) return false;
      image.edit(op.node).content.write(op.offset, op.data);
      return true;
    case OpKind::set_size:
      if (!is_file(op.node)) return false;
      image.edit(op.node).content.resize(op.size);
      return true;
    case OpKind::sync_file:
      return is_file(op.node);
    case OpKind::sync_dir:
      return is_dir(op.node);
    case OpKind::link:
      if (!is_file(op.node) || !is_dir(op.place.dir)) return false;
      image.edit(op.place.dir).add(op.place.name, op.node);
      return true;
    case OpKind::rename:
      if (!holds(op.place, op.node) || !is_dir(op.place2.dir)) return false;
      image.edit(op.place2.dir).add(op.place2.name, op.node);
      image.edit(op.place.dir).remove(op.place.name);
      return true;
    case OpKind::exchange:
      if (!holds(op.place, op.node) || !holds(op.place2, op.node2)) return false;
      image.edit(op.place.dir).add(op.place.name, op.node2);
      image.edit(op.place2.dir).add(op.place2.name, op.node);
      return true;
    case OpKind::remove:
      if (!holds(op.place, op.node)) return false;
      image.edit(op.place.dir).remove(op.place.name);
      return true;
  }
  return false;
}

std::string describe(const DiskOp& op) {
  return op.failed ? describe_success(op) + " (failed)" : describe_success(op);
}

}  // namespace varve::sim
