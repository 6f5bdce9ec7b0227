#include "store/varve/frame_pool.h"

#include <utility>

namespace varve {
namespace {

// Little more than 2 MiB are kept: the frames of a small commit. Those of a large one are not worth
// it.
constexpr std::size_t kKeptCountMax = 32;
constexpr std::size_t kKeptSizeMax = std::size_t{64} << 10;

}  // namespace

struct FramePool::Lent {
  Lent(std::shared_ptr<Blocks> from, ByteWriter of) noexcept
      : blocks(std::move(from)), frame(std::move(of)) {}
  ~Lent() { blocks->give_back(std::move(frame)); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  const std::shared_ptr<Blocks> blocks;
  ByteWriter frame;
};

FramePool::FramePool(bool used) : blocks_(std::make_shared<Blocks>()), is_used_(used) {
  if (used) blocks_->free.reserve(kKeptCountMax);
}

ByteWriter FramePool::take() {
  const std::lock_guard lock(blocks_->mutex);
  if (blocks_->free.empty()) return ByteWriter();
  ByteWriter frame = std::move(blocks_->free.back());
  blocks_->free.pop_back();
  return frame;
}

void FramePool::Blocks::give_back(ByteWriter frame) noexcept {
  frame.clear();
  const std::lock_guard lock(mutex);
  if (free.size() < free.capacity()) free.push_back(std::move(frame));
}

void FramePool::give_back(ByteWriter frame, std::size_t payload_size) noexcept {
  if (is_used_ && payload_size <= kKeptSizeMax) blocks_->give_back(std::move(frame));
}

Bytes FramePool::share(ByteWriter frame, std::size_t payload_size) {
  if (!is_used_ || payload_size > kKeptSizeMax) return frame.take();
  const auto lent = std::make_shared<Lent>(blocks_, std::move(frame));
  const ByteView shown = lent->frame.view();
  return Bytes::pinning(lent, shown);
}

}  // namespace varve
