// Measures how much memory a decoder takes, which is how the tests prove that a
// hostile size is refused before it is believed.
#pragma once

#include <cstddef>

namespace varve::test {

// Counts what this thread allocates with new between construction and peak_size().
// What C libraries take with malloc is not seen.
class AllocationWatch {
 public:
  AllocationWatch();
  // The most that was allocated at one time.
  std::size_t peak_size() const;
};

}  // namespace varve::test
