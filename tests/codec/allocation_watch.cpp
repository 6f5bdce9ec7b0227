#include "allocation_watch.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t live_size = 0;
thread_local std::size_t peak_live_size = 0;

void* allocate(std::size_t size) {
  void* const block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  live_size += malloc_usable_size(block);
  peak_live_size = std::max(peak_live_size, live_size);
  return block;
}

void release(void* block) noexcept {
  // A block from another thread may be larger than what this one has taken.
  live_size -= std::min(live_size, malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }

namespace varve::test {

AllocationWatch::AllocationWatch() {
  live_size = 0;
  peak_live_size = 0;
}

std::size_t AllocationWatch::peak_size() const { return peak_live_size; }

}  // namespace varve::test
