#include "backend/log/index_memory.h"

#include <sys/mman.h>

#include <memory>
#include <new>

namespace varve::log {
namespace {

constexpr std::size_t kLineSize = 64;
constexpr std::align_val_t kHugePage{IndexMemory::kHugePageSize};

}  // namespace

IndexMemory::IndexMemory(std::size_t size) {
  if (size >= kHugePageSize) {
    block_ = ::operator new(size, kHugePage);
    data_ = static_cast<std::byte*>(block_);
    size_ = size;
    is_huge_ = true;
#if defined(MADV_HUGEPAGE)
    // A wish: without it everything works, only slower.
    ::madvise(block_, size, MADV_HUGEPAGE);
#endif
    return;
  }
  size_ = size + kLineSize;
  block_ = ::operator new(size_);
  void* start = block_;
  std::size_t space = size_;
  data_ = static_cast<std::byte*>(std::align(kLineSize, size, start, space));
}

IndexMemory::~IndexMemory() {
  if (is_huge_) {
    ::operator delete(block_, kHugePage);
  } else {
    ::operator delete(block_);
  }
}

}  // namespace varve::log
