#include <algorithm>
#include <mutex>
#include <vector>

#include "varve/chunk.h"

namespace varve {
namespace {

constexpr std::size_t kBlockCountMax = 64;
constexpr std::size_t kPoolSizeMax = std::size_t{16} << 20;
// A block may be this many times larger than what is asked for. Whoever keeps the bytes
// keeps the whole block, so that a large one for a few bytes costs more than it saves.
constexpr std::size_t kOversizeMax = 4;

}  // namespace

struct BufferPool::Blocks {
  Blocks() { free.reserve(kBlockCountMax); }

  Buffer take(std::size_t size) {
    const std::lock_guard lock(mutex);
    auto best = free.end();
    for (auto i = free.begin(); i != free.end(); ++i) {
      const bool fits = i->capacity() >= size && i->capacity() / kOversizeMax <= size;
      if (fits && (best == free.end() || i->capacity() < best->capacity())) best = i;
    }
    if (best == free.end()) return {};
    Buffer out = std::move(*best);
    free_size -= out.capacity();
    free.erase(best);
    return out;
  }

  void give_back(Buffer block) noexcept {
    const std::size_t capacity = block.capacity();
    if (capacity == 0 || capacity > kPoolSizeMax) return;
    const std::lock_guard lock(mutex);
    // The oldest go: sizes nobody asks for any more make way for those that come back.
    while (free.size() == kBlockCountMax || free_size > kPoolSizeMax - capacity) {
      free_size -= free.front().capacity();
      free.erase(free.begin());
    }
    free.push_back(std::move(block));
    free_size += capacity;
  }

  std::mutex mutex;
  std::vector<Buffer> free;  // The oldest first.
  std::size_t free_size = 0;
};

namespace {

// Owns a block that was shared and brings it home, if home is still there.
template <class Blocks>
struct Lent {
  Lent(Buffer filled, std::weak_ptr<Blocks> from)
      : block(std::move(filled)), home(std::move(from)) {}
  ~Lent() {
    if (const auto blocks = home.lock()) blocks->give_back(std::move(block));
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  Buffer block;
  std::weak_ptr<Blocks> home;
};

}  // namespace

BufferPool::BufferPool() : blocks_(std::make_shared<Blocks>()) {}
BufferPool::~BufferPool() = default;

Buffer BufferPool::take(std::size_t size) {
  Buffer out = blocks_->take(size);
  out.resize(size);
  return out;
}

Bytes BufferPool::share(Buffer filled) {
  const auto lent = std::make_shared<const Lent<Blocks>>(std::move(filled), blocks_);
  return Bytes::pinning(lent, lent->block.view());
}

}  // namespace varve
