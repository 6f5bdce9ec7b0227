// Measures how much memory a decoder takes, which is how the tests prove that a
// hostile size is refused before it is believed; and makes memory run out.
//
// It replaces operator new, so it is no part of the support library: a test program that
// wants it names allocation_watch.cpp among its sources.
#pragma once

#include <cstddef>

namespace varve::test {

// Counts what this thread allocates with new from construction on. What C libraries
// take with malloc is not seen.
class AllocationWatch {
 public:
  AllocationWatch();
  // The most that was allocated at one time.
  std::size_t peak_size() const;
  // What is allocated now.
  std::size_t live_size() const;
};

// Makes this thread run out of memory: the allocation `index`, counted from 0, and
// all after it throw until the object is gone.
class AllocationFailure {
 public:
  explicit AllocationFailure(std::size_t index);
  ~AllocationFailure();
  AllocationFailure(const AllocationFailure&) = delete;
  AllocationFailure& operator=(const AllocationFailure&) = delete;
};

}  // namespace varve::test
