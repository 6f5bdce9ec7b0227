// Threads that read while a test writes.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace varve::test {

class Readers {
 public:
  // Each thread calls `read` until this object goes.
  template <class Read>
  Readers(int count, Read read) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, read] {
        while (!done_) {
          read();
          ++read_count_;
        }
      });
    }
  }
  ~Readers() { done_ = true; }

  // Writes are quick where nothing goes to a disk: without this they would all be through
  // before the first read.
  void let_one_read() const {
    const int before = read_count_;
    while (read_count_ == before) std::this_thread::yield();
  }

 private:
  std::atomic<bool> done_ = false;
  std::atomic<int> read_count_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace varve::test
