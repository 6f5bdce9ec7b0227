// Text in columns.
#pragma once

#include <string>
#include <vector>

#include "harness/measurement.h"

namespace varve::bench {

// Rows of cells, padded to the widest of their column: the first column to the
// left, numbers to the right. A row may have fewer cells than the widest one. A
// line of dashes follows the first row.
std::string format_rows(const std::vector<std::vector<std::string>>& rows);

// Three significant digits, never an exponent: 0.00123, 0.123, 12.3, 1230.
std::string format_number(double value);

// The table of one measurement: a caption that says the unit and which way is
// better, then one line per arm with its percentiles and its ratio to raw and to
// every other arm that has samples.
std::string format_measurement(const Measurement& measurement);

}  // namespace varve::bench
