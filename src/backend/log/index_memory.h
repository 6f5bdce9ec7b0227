// Memory that is looked at here and there: on cache lines, and on huge pages where it is large.
//
// A look at a random place of many megabytes costs two misses, that of the data and that of its
// page's entry in the page tables. Huge pages save most of the second, which is the dearer one in
// a virtual machine.
#pragma once

#include <cstddef>
#include <utility>

namespace varve::log {

class IndexMemory {
 public:
  static constexpr std::size_t kHugePageSize = std::size_t{1} << 21;

  IndexMemory() = default;
  // Indeterminate bytes. Throws std::bad_alloc.
  explicit IndexMemory(std::size_t size);
  ~IndexMemory();
  IndexMemory(IndexMemory&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        is_huge_(std::exchange(other.is_huge_, false)) {}
  IndexMemory& operator=(IndexMemory&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(is_huge_, other.is_huge_);
    return *this;
  }

  std::byte* data() const noexcept { return data_; }
  // What was allocated, which is a little more than what was asked for.
  std::size_t size() const noexcept { return size_; }

 private:
  void* block_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_huge_ = false;
};

}  // namespace varve::log
