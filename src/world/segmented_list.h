// A list that grows at its end, piece by piece: what is in it is never moved, so that no frame pays
// for all that came before. An empty one takes no memory, which a std::deque does.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace varve {

template <class T>
class SegmentedList {
 public:
  SegmentedList() = default;
  SegmentedList(SegmentedList&&) noexcept = default;
  SegmentedList& operator=(SegmentedList&&) noexcept = default;

  std::size_t size() const noexcept {
    return empty() ? 0 : (segments_.size() - 1) * kSegmentSize + segments_.back().size();
  }
  bool empty() const noexcept { return segments_.empty(); }

  T& operator[](std::size_t index) { return segments_[index / kSegmentSize][index % kSegmentSize]; }
  const T& operator[](std::size_t index) const {
    return segments_[index / kSegmentSize][index % kSegmentSize];
  }
  T& back() { return segments_.back().back(); }

  // After an exception nothing has changed.
  template <class... Args>
  void emplace_back(Args&&... args) {
    if (empty() || segments_.back().size() == kSegmentSize) {
      std::vector<T> segment;
      segment.reserve(kSegmentSize);
      segment.emplace_back(std::forward<Args>(args)...);
      segments_.push_back(std::move(segment));
    } else {
      segments_.back().emplace_back(std::forward<Args>(args)...);
    }
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void pop_back() noexcept {
    segments_.back().pop_back();
    if (segments_.back().empty()) segments_.pop_back();
  }
  void resize(std::size_t size) {
    while (this->size() > size) pop_back();
    while (this->size() < size) emplace_back();
  }
  void swap(SegmentedList& other) noexcept { segments_.swap(other.segments_); }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    Iterator(const SegmentedList& list, std::size_t index) noexcept : list_(&list), index_(index) {}
    reference operator*() const { return (*list_)[index_]; }
    pointer operator->() const { return &(*list_)[index_]; }
    Iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    Iterator operator++(int) noexcept { return {*list_, index_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const SegmentedList* list_ = nullptr;
    std::size_t index_ = 0;
  };
  Iterator begin() const noexcept { return {*this, 0}; }
  Iterator end() const noexcept { return {*this, size()}; }

 private:
  static constexpr std::size_t kSegmentSize = 32;

  // All but the last are full, none is empty, and each has its memory from the beginning.
  std::vector<std::vector<T>> segments_;
};

}  // namespace varve
