// What background threads tell the game thread. Looking into an empty one costs a load.
#pragma once

#include <atomic>
#include <list>
#include <mutex>

namespace varve {

template <class T>
class Mailbox {
 public:
  // A list of one, made beforehand: news must not be lost for lack of memory.
  void put(std::list<T> one) noexcept {
    const std::lock_guard lock(mutex_);
    items_.splice(items_.end(), one);
    filled_.store(true, std::memory_order_release);
  }

  bool empty() const noexcept { return !filled_.load(std::memory_order_acquire); }

  // Everything, oldest first.
  std::list<T> take() noexcept {
    std::list<T> items;
    const std::lock_guard lock(mutex_);
    items.swap(items_);
    filled_.store(false, std::memory_order_release);
    return items;
  }

 private:
  std::mutex mutex_;
  std::list<T> items_;
  std::atomic<bool> filled_ = false;
};

}  // namespace varve
