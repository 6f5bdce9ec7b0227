#include "backend/log/index_order.h"

#include <absl/container/btree_set.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

namespace varve::log {
namespace {

// Where the tree gets its nodes, and how many bytes they are.
class NodeMemory {
 public:
  NodeMemory() = default;
  ~NodeMemory() {
    for (void* const block : reserve_) ::operator delete(block);
  }
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  void refill() {
    while (reserve_count_ < kReserveCount) {
      void* const block = ::operator new(kNodeSizeMax);
      reserve_[reserve_count_++] = block;
    }
  }

  void* take(std::size_t size) {
    void* block = nullptr;
    try {
      block = ::operator new(size);
    } catch (const std::bad_alloc&) {
      if (reserve_count_ == 0 || size > kNodeSizeMax) throw;
      block = std::exchange(reserve_[--reserve_count_], nullptr);
    }
    size_ += size;
    return block;
  }

  void give_back(void* block, std::size_t size) noexcept {
    size_ -= size;
    ::operator delete(block);
  }

  std::size_t size() const noexcept { return size_ + reserve_count_ * kNodeSizeMax; }

 private:
  // An insertion splits at most one node of each level and adds a root. With 30 children a node,
  // 2^32 groups have 7 levels. The largest node has 62 children and 61 references.
  static constexpr std::size_t kReserveCount = 10;
  static constexpr std::size_t kNodeSizeMax = 1024;

  std::array<void*, kReserveCount> reserve_{};
  std::size_t reserve_count_ = 0;
  std::size_t size_ = 0;
};

template <class T>
struct NodeAllocator {
  using value_type = T;

  explicit NodeAllocator(NodeMemory* memory) noexcept : memory(memory) {}
  template <class U>
  NodeAllocator(const NodeAllocator<U>& other) noexcept  // NOLINT(google-explicit-constructor)
      : memory(other.memory) {}

  T* allocate(std::size_t count) { return static_cast<T*>(memory->take(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept {
    memory->give_back(block, count * sizeof(T));
  }
  friend bool operator==(const NodeAllocator& a, const NodeAllocator& b) noexcept {
    return a.memory == b.memory;
  }

  NodeMemory* memory;
};

struct Below {
  using is_transparent = void;

  bool operator()(GroupRef a, GroupRef b) const noexcept {
    return is_below(arena->at(a).prefix(), arena->at(b).prefix());
  }
  bool operator()(GroupRef a, ByteView b) const noexcept {
    return is_below(arena->at(a).prefix(), b);
  }
  bool operator()(ByteView a, GroupRef b) const noexcept {
    return is_below(a, arena->at(b).prefix());
  }

  const GroupArena* arena;
};

// Where a prefix is in the order, as far as its first 8 bytes tell.
std::uint64_t head_of(ByteView prefix) noexcept {
  if (prefix.size() >= 8) return load_be<std::uint64_t>(prefix.data());
  std::array<std::byte, 8> head{};
  std::copy(prefix.begin(), prefix.end(), head.begin());
  return load_be<std::uint64_t>(head.data());
}

// All groups in order. Comparing means to look at two groups somewhere in memory, so that most of
// it is done on copies of their first bytes.
std::vector<GroupRef> sorted_groups(const GroupArena& arena) {
  std::vector<GroupRef> refs;
  arena.for_each([&](GroupRef ref) { refs.push_back(ref); });
  const Below below{&arena};
  if (std::is_sorted(refs.begin(), refs.end(), below)) return refs;

  std::vector<std::pair<std::uint64_t, GroupRef>> heads;
  heads.reserve(refs.size());
  for (const GroupRef ref : refs) heads.emplace_back(head_of(arena.at(ref).prefix()), ref);
  std::sort(heads.begin(), heads.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : below(a.second, b.second);
  });
  for (std::size_t i = 0; i < refs.size(); ++i) refs[i] = heads[i].second;
  return refs;
}

}  // namespace

struct GroupOrder::Tree {
  explicit Tree(const GroupArena& arena)
      : arena(arena), refs(Below{&arena}, NodeAllocator<GroupRef>(&memory)) {}

  const GroupArena& arena;
  NodeMemory memory;
  absl::btree_set<GroupRef, Below, NodeAllocator<GroupRef>> refs;
};

GroupOrder::GroupOrder(const GroupArena& arena) : tree_(std::make_unique<Tree>(arena)) {
  for (const GroupRef ref : sorted_groups(arena)) {
    prepare();
    tree_->refs.insert(tree_->refs.end(), ref);
  }
}

GroupOrder::~GroupOrder() = default;

void GroupOrder::prepare() { tree_->memory.refill(); }

void GroupOrder::insert(GroupRef ref) noexcept { tree_->refs.insert(ref); }

void GroupOrder::erase(GroupRef ref) noexcept { tree_->refs.erase(ref); }

void GroupOrder::replace(GroupRef from, GroupRef to) noexcept {
  // A set lets nobody change its elements, since that might change their order. Here it does not.
  const_cast<GroupRef&>(*tree_->refs.find(from)) = to;
}

void GroupOrder::for_each_from(ByteView prefix, const std::function<bool(GroupRef)>& use) const {
  const auto& refs = tree_->refs;
  for (auto it = refs.lower_bound(prefix); it != refs.end() && use(*it); ++it) {
  }
}

std::size_t GroupOrder::memory_size() const noexcept { return sizeof(Tree) + tree_->memory.size(); }

}  // namespace varve::log
