// One thing that was measured, for every arm that took part.
#pragma once

#include <string>
#include <vector>

namespace varve::bench {

enum class Better { smaller, bigger };

// The samples of one arm. An arm with an error was taken out of the run when it
// failed; its samples until then are worth nothing and are not shown.
struct Series {
  std::string arm;
  std::vector<double> samples;
  std::string error;

  bool failed() const noexcept { return !error.empty(); }
};

struct Measurement {
  std::string title;
  std::string unit;
  Better better = Better::smaller;
  // False where the value is a ratio already, and a ratio of ratios says nothing.
  bool compared = true;
  std::vector<Series> series;
  // Lines to print below the table, such as a histogram.
  std::string note = {};
};

// The arm that is the physical limit: every table compares with it first.
inline constexpr const char* kRawArm = "raw";

}  // namespace varve::bench
