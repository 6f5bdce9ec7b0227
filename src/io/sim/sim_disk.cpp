#include "io/sim/sim_disk.h"

#include <fmt/format.h>
#include <atomic>

#include "io/sim/sim_file.h"
#include "varve/checksum.h"

namespace varve::sim {
namespace {

// Whether `path` is `dir` or lies in it.
bool is_inside(std::string_view path, std::string_view dir) {
  return path.starts_with(dir) && (path.size() == dir.size() || path[dir.size()] == '/');
}

Error no_links(std::string_view path, const char* what) {
  return unsupported(fmt::format("{}: this file system has no {}", path, what));
}

}  // namespace

namespace {

std::uint64_t next_boot_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

SimDisk::SimDisk(DiskImage image, std::uint64_t seed)
    : boot_id_(next_boot_id()), view_(std::move(image)), seed_(seed) {}
SimDisk::~SimDisk() = default;

std::uint64_t SimDisk::op_count() const {
  const std::lock_guard guard(mutex_);
  return op_count_;
}

void SimDisk::set_fault(std::optional<Fault> fault) {
  const std::lock_guard guard(mutex_);
  fault_ = fault;
}

void SimDisk::set_capacity(std::uint64_t size) {
  const std::lock_guard guard(mutex_);
  capacity_ = size;
}

void SimDisk::set_links(bool has_links) {
  const std::lock_guard guard(mutex_);
  has_links_ = has_links;
}

void SimDisk::set_holes(bool has_holes) {
  const std::lock_guard guard(mutex_);
  has_holes_ = has_holes;
}

void SimDisk::set_recording(bool recording) {
  const std::lock_guard guard(mutex_);
  recording_ = recording;
}

void SimDisk::mark(std::uint64_t value) {
  const std::lock_guard guard(mutex_);
  record({.kind = OpKind::mark, .value = value});
}

OpLog SimDisk::log() const {
  const std::lock_guard guard(mutex_);
  return log_;
}

DiskImage SimDisk::image() const {
  const std::lock_guard guard(mutex_);
  return view_;
}

std::optional<Error> SimDisk::enter(std::string_view path, const char* what) {
  ++op_count_;
  if (!fault_ || op_count_ < fault_->op_number) return std::nullopt;
  if (op_count_ > fault_->op_number && !fault_->from_then_on) return std::nullopt;
  return Error(fault_->code, fmt::format("{}: {} failed: simulated {} at operation {}", path, what,
                                         to_string(fault_->code), op_count_));
}

Status SimDisk::status_of(const std::optional<Error>& failure) {
  if (failure) return *failure;
  return {};
}

Error SimDisk::no_such(std::string_view path) {
  return not_found(fmt::format("{}: no such file or directory", path));
}

void SimDisk::record(DiskOp op) {
  if (recording_) log_.push_back(std::move(op));
}

void SimDisk::change(DiskOp op) {
  apply_op(view_, op);
  show_through_mappings(op);
  record(std::move(op));
}

Effect SimDisk::effect() const {
  if (fault_ && fault_->effect != Effect::by_seed) return fault_->effect;
  constexpr Effect kEffects[] = {Effect::none, Effect::part, Effect::all, Effect::all};
  const std::string seed = fmt::format("{} {}", seed_, op_count_);
  return kEffects[xxh3(as_byte_view(seed)) % 4];
}

Result<std::unique_ptr<File>> SimDisk::open(std::string_view path, OpenMode mode) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "open");
  if (failure && !takes_effect()) return *failure;
  const bool creates = mode != OpenMode::read && mode != OpenMode::write;
  std::optional<NodeId> node = view_.find(path);
  if (node && view_.node(*node)->is_dir) {
    return invalid_argument(fmt::format("{}: not an ordinary file", path));
  }
  if (node && mode == OpenMode::create_new) {
    return invalid_argument(fmt::format("{}: already exists", path));
  }
  if (!node) {
    auto place = creates ? view_.place(path) : std::nullopt;
    if (!place) return no_such(path);
    node = view_.next_id();
    change({.kind = OpKind::create,
            .failed = failure.has_value(),
            .node = *node,
            .place = std::move(*place)});
  } else if (mode == OpenMode::replace && view_.node(*node)->content.size() != 0) {
    if (cuts_a_mapping(*node, 0)) {
      return invalid_argument(fmt::format("{}: a mapped part would be cut off", path));
    }
    change({.kind = OpKind::set_size, .failed = failure.has_value(), .node = *node, .size = 0});
  } else {
    record({.kind = OpKind::read, .node = *node});
  }
  if (failure) return *failure;
  return std::make_unique<SimFile>(*this, path, *node, mode != OpenMode::read);
}

Result<FileInfo> SimDisk::info(std::string_view path) {
  const std::lock_guard guard(mutex_);
  if (auto failure = enter(path, "look-up")) return *failure;
  const auto node = view_.find(path);
  record({.kind = OpKind::read, .node = node.value_or(kRootNode)});
  if (!node) return no_such(path);
  const Node* found = view_.node(*node);
  const std::uint64_t size = found->content.size();
  return FileInfo{found->is_dir ? FileKind::directory : FileKind::file, size, size};
}

Result<std::vector<DirEntry>> SimDisk::list(std::string_view dir) {
  const std::lock_guard guard(mutex_);
  if (auto failure = enter(dir, "listing the directory")) return *failure;
  const auto node = view_.find(dir);
  if (!node || !view_.node(*node)->is_dir) return no_such(dir);
  record({.kind = OpKind::read, .node = *node});
  std::vector<DirEntry> entries;
  for (const auto& [name, child] : view_.node(*node)->entries) {
    const Node* found = view_.node(child);
    if (found->is_dir) {
      entries.push_back({name, FileKind::directory});
    } else {
      entries.push_back({name, FileKind::file, found->content.size()});
    }
  }
  return entries;
}

Status SimDisk::rename(std::string_view from, std::string_view to) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(from, "rename");
  if (failure && !takes_effect()) return *failure;
  const auto node = view_.find(from);
  auto place = view_.place(from);
  auto place2 = view_.place(to);
  if (!node || !place || !place2) return no_such(node ? to : from);
  if (view_.node(*node)->is_dir && is_inside(to, from)) {
    return invalid_argument(fmt::format("{}: cannot take the place of {}", from, to));
  }
  if (const auto replaced = view_.find(to)) {
    if (*replaced == *node) return status_of(failure);
    const Node* there = view_.node(*replaced);
    if (there->is_dir != view_.node(*node)->is_dir || !there->entries.empty()) {
      return invalid_argument(fmt::format("{}: cannot take the place of {}", from, to));
    }
  }
  change({.kind = OpKind::rename,
          .failed = failure.has_value(),
          .node = *node,
          .place = std::move(*place),
          .place2 = std::move(*place2)});
  return status_of(failure);
}

Status SimDisk::exchange(std::string_view a, std::string_view b) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(a, "exchange");
  if (failure && !takes_effect()) return *failure;
  if (!has_links_) return no_links(a, "exchange of names");
  const auto node = view_.find(a);
  const auto node2 = view_.find(b);
  auto place = view_.place(a);
  auto place2 = view_.place(b);
  if (!node || !node2 || !place || !place2) return no_such(node ? b : a);
  change({.kind = OpKind::exchange,
          .failed = failure.has_value(),
          .node = *node,
          .node2 = *node2,
          .place = std::move(*place),
          .place2 = std::move(*place2)});
  return status_of(failure);
}

Status SimDisk::link(std::string_view existing, std::string_view added) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(existing, "link");
  if (failure && !takes_effect()) return *failure;
  if (!has_links_) return no_links(existing, "links");
  const auto node = view_.find(existing);
  auto place = view_.place(added);
  if (!node || !place) return no_such(node ? added : existing);
  if (view_.node(*node)->is_dir) {
    return invalid_argument(fmt::format("{}: a directory cannot be linked", existing));
  }
  if (view_.find(added)) return invalid_argument(fmt::format("{}: already exists", added));
  change({.kind = OpKind::link,
          .failed = failure.has_value(),
          .node = *node,
          .place = std::move(*place)});
  return status_of(failure);
}

Status SimDisk::remove(std::string_view path) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "remove");
  if (failure && !takes_effect()) return *failure;
  const auto node = view_.find(path);
  auto place = view_.place(path);
  if (!node || !place) return no_such(path);
  if (view_.node(*node)->is_dir) return invalid_argument(fmt::format("{}: a directory", path));
  change({.kind = OpKind::remove,
          .failed = failure.has_value(),
          .node = *node,
          .place = std::move(*place)});
  return status_of(failure);
}

Status SimDisk::create_dir(std::string_view path) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "creating the directory");
  if (failure && !takes_effect()) return *failure;
  if (const auto node = view_.find(path)) {
    if (view_.node(*node)->is_dir) return status_of(failure);
    return invalid_argument(fmt::format("{}: already exists and is no directory", path));
  }
  auto place = view_.place(path);
  if (!place) return no_such(path);
  change({.kind = OpKind::make_dir,
          .failed = failure.has_value(),
          .node = view_.next_id(),
          .place = std::move(*place)});
  return status_of(failure);
}

Status SimDisk::remove_dir(std::string_view path) {
  const std::lock_guard guard(mutex_);
  const auto failure = enter(path, "removing the directory");
  if (failure && !takes_effect()) return *failure;
  const auto node = view_.find(path);
  auto place = view_.place(path);
  if (!node || !place || !view_.node(*node)->is_dir) return no_such(path);
  if (!view_.node(*node)->entries.empty()) {
    return invalid_argument(fmt::format("{}: the directory is not empty", path));
  }
  change({.kind = OpKind::remove,
          .failed = failure.has_value(),
          .node = *node,
          .place = std::move(*place)});
  return status_of(failure);
}

Status SimDisk::sync_dir(std::string_view path) {
  std::optional<NodeId> node;
  {
    const std::lock_guard guard(mutex_);
    node = view_.find(path);
    if (!node || !view_.node(*node)->is_dir) return no_such(path);
  }
  return sync(*node, OpKind::sync_dir, path);
}

Status SimDisk::sync_data(std::span<File* const> files) {
  Status first;
  for (File* file : files) {
    Status result = file->sync_data();
    if (first && !result) first = std::move(result);
  }
  return first;
}

Result<std::uint64_t> SimDisk::free_space(std::string_view path) {
  const std::lock_guard guard(mutex_);
  if (auto failure = enter(path, "asking for free space")) return *failure;
  record({.kind = OpKind::read});
  const std::uint64_t used = view_.used_size_without(std::nullopt);
  const std::uint64_t capacity = capacity_.value_or(kFileSizeMax);
  return used < capacity ? capacity - used : 0;
}

}  // namespace varve::sim
