// The half of SimDisk that works on contents: what an open SimFile asks for.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "io/sim/sim_disk.h"

namespace varve::sim {

// The memory a mapping shows. It stands apart from the file's pages, so that it
// stays where it is when the file grows; every write is copied into it.
struct SimDisk::Mapping {
  NodeId node;
  std::uint64_t offset;
  Buffer memory;
};

bool SimDisk::fits(NodeId node, std::uint64_t new_size) const {
  if (new_size > kFileSizeMax) return false;
  return !capacity_ || view_.used_size_without(node) + new_size <= *capacity_;
}

bool SimDisk::cuts_a_mapping(NodeId node, std::uint64_t new_size) const {
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const auto& weak) {
    const auto mapping = weak.lock();
    return mapping && mapping->node == node && mapping->offset + mapping->memory.size() > new_size;
  });
}

Status SimDisk::write(NodeId node, const std::string& path, std::uint64_t offset, ByteView data) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "write");
  if (!fits(node, std::max(view_.node(node)->content.size(), offset + data.size()))) {
    return failure
               ? *failure
               : out_of_space(fmt::format("{}: write failed: the simulated disk is full", path));
  }
  return put(node, offset, data, failure);
}

Status SimDisk::put(NodeId node, std::uint64_t offset, ByteView data,
                    const std::optional<Error>& failure) {
  // Nothing, a part or all of it may have been written before the failure.
  if (failure && effect() == Effect::none) data = {};
  if (failure && effect() == Effect::part) data = data.first(data.size() / 2);
  if (!data.empty()) {
    change({.kind = OpKind::write,
            .failed = failure.has_value(),
            .node = node,
            .offset = offset,
            .data = Bytes::copy_of(data)});
  }
  return status_of(failure);
}

Status SimDisk::set_size(NodeId node, const std::string& path, std::uint64_t size) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "truncate");
  if (failure && !takes_effect()) return *failure;
  if (!fits(node, size)) {
    return out_of_space(fmt::format("{}: truncate failed: the simulated disk is full", path));
  }
  if (cuts_a_mapping(node, size)) {
    return invalid_argument(fmt::format("{}: a mapped part would be cut off", path));
  }
  change({.kind = OpKind::set_size, .failed = failure.has_value(), .node = node, .size = size});
  return status_of(failure);
}

Status SimDisk::extend(NodeId node, const std::string& path, std::uint64_t from, std::uint64_t to) {
  std::uint64_t size = 0;
  {
    const std::lock_guard guard(mutex_);
    size = view_.node(node)->content.size();
  }
  // Behind the end a File knows may lie what a failed append left; zeros go over it.
  if (size > from) {
    const std::string zeros(static_cast<std::size_t>(std::min(size, to) - from), '\0');
    VARVE_TRY(write(node, path, from, as_byte_view(zeros)));
  }
  // Beyond, written zeros and a hole look the same to a reader.
  return to > size ? set_size(node, path, to) : Status();
}

Status SimDisk::punch(NodeId node, const std::string& path, std::uint64_t offset,
                      std::uint64_t size) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "punching a hole");
  if (!has_holes_) {
    return failure ? *failure : unsupported(fmt::format("{}: this file system has no holes", path));
  }
  const std::string zeros(static_cast<std::size_t>(size), '\0');
  return put(node, offset, as_byte_view(zeros), failure);
}

Status SimDisk::sync(NodeId node, OpKind kind, std::string_view path) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "sync");
  record({.kind = kind, .failed = failure.has_value(), .node = node});
  return status_of(failure);
}

Result<Bytes> SimDisk::map(NodeId node, const std::string& path, std::uint64_t offset,
                           std::size_t size) {
  const std::lock_guard guard(mutex_);
  if (auto failure = enter(path, "mapping")) return *failure;
  record({.kind = OpKind::read, .node = node, .offset = offset, .size = size});
  auto mapping = std::make_shared<Mapping>(Mapping{node, offset, Buffer(size)});
  view_.node(node)->content.read(offset, mapping->memory.span());
  std::erase_if(mappings_, [](const auto& weak) { return weak.expired(); });
  mappings_.push_back(mapping);
  const ByteView shown = mapping->memory.view();
  return Bytes::pinning(std::move(mapping), shown);
}

void SimDisk::show_through_mappings(const DiskOp& op) {
  if (op.kind != OpKind::write) return;
  for (const auto& weak : mappings_) {
    const auto mapping = weak.lock();
    if (!mapping || mapping->node != op.node) continue;
    const std::uint64_t from = std::max(op.offset, mapping->offset);
    const std::uint64_t to =
        std::min(op.offset + op.data.size(), mapping->offset + mapping->memory.size());
    if (from >= to) continue;
    std::memcpy(mapping->memory.data() + (from - mapping->offset),
                op.data.data() + (from - op.offset), static_cast<std::size_t>(to - from));
  }
}

}  // namespace varve::sim
