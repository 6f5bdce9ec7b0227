#include "support/allocation_watch.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

thread_local std::size_t live = 0;
thread_local std::size_t peak_live = 0;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
thread_local std::size_t count_until_failure = kNever;

void* allocate(std::size_t size) {
  if (count_until_failure == 0) throw std::bad_alloc();
  if (count_until_failure != kNever) --count_until_failure;
  void* const block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  live += malloc_usable_size(block);
  peak_live = std::max(peak_live, live);
  return block;
}

void* allocate_or_null(std::size_t size) noexcept {
  try {
    return allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void release(void* block) noexcept {
  // A block from another thread may be larger than what this one has taken.
  live -= std::min(live, malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
// std::stable_sort asks for its memory in this way, and gives it back in the usual one.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }

namespace varve::test {

AllocationWatch::AllocationWatch() {
  live = 0;
  peak_live = 0;
}

std::size_t AllocationWatch::peak_size() const { return peak_live; }
std::size_t AllocationWatch::live_size() const { return live; }

AllocationFailure::AllocationFailure(std::size_t index) { count_until_failure = index; }
AllocationFailure::~AllocationFailure() { count_until_failure = kNever; }

}  // namespace varve::test
