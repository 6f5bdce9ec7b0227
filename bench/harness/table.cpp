#include "harness/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/stats.h"

namespace varve::bench {
namespace {

using Row = std::vector<std::string>;

// The arms a ratio can be taken to, raw first.
std::vector<std::pair<std::string, Summary>> bases_of(const Measurement& measurement) {
  std::vector<std::pair<std::string, Summary>> bases;
  for (const Series& series : measurement.series) {
    if (series.failed() || series.samples.empty()) continue;
    const auto where = series.arm == kRawArm ? bases.begin() : bases.end();
    bases.insert(where, {series.arm, summarize(series.samples)});
  }
  return bases;
}

// Two decimals, which is finer than the noise; more where those would be zeros.
std::string format_ratio(double ratio) {
  return ratio > 0 && ratio < 0.1 ? format_number(ratio) : fmt::format("{:.2f}", ratio);
}

}  // namespace

std::string format_rows(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (std::size_t row_index = 0; row_index < rows.size(); ++row_index) {
    const Row& row = rows[row_index];
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      if (i == 0) {
        // Padding after the last cell would be blanks at the end of a line.
        text += fmt::format("{:<{}}", row[i], last ? 0 : widths[i]);
      } else {
        text += fmt::format("  {:>{}}", row[i], widths[i]);
      }
    }
    text += '\n';
    if (row_index != 0) continue;
    std::size_t line_width = 0;
    for (const std::size_t width : widths) line_width += width + 2;
    text += std::string(line_width < 2 ? 0 : line_width - 2, '-') + '\n';
  }
  return text;
}

std::string format_number(double value) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  // Rounded first: 9.996 has three significant digits as 10.0, not as 10.00.
  const double rounded = std::stod(fmt::format("{:.2e}", value));
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(rounded))));
  return fmt::format("{:.{}f}", value, std::clamp(2 - magnitude, 0, 9));
}

std::string format_measurement(const Measurement& measurement) {
  const auto bases =
      measurement.compared ? bases_of(measurement) : std::vector<std::pair<std::string, Summary>>{};
  std::vector<Row> rows;
  Row head = {"arm", "p50", "p10", "p90", "p99", "max", "mean", "mean/p50", "samples"};
  for (const auto& [name, summary] : bases) head.push_back("/" + name);
  rows.push_back(std::move(head));

  std::string failures;
  for (const Series& series : measurement.series) {
    if (series.failed()) {
      failures += fmt::format("FAILED {}: {}\n", series.arm, series.error);
      continue;
    }
    const Summary summary = summarize(series.samples);
    Row row = {series.arm,
               format_number(summary.p50),
               format_number(summary.p10),
               format_number(summary.p90),
               format_number(summary.p99),
               format_number(summary.max),
               format_number(summary.mean),
               fmt::format("{:.2f}", summary.mean_over_p50()),
               fmt::format("{}", summary.sample_count)};
    for (const auto& [name, base] : bases) row.push_back(format_ratio(ratio(summary, base)));
    rows.push_back(std::move(row));
  }
  return fmt::format("{} [{}], {} is better{}\n{}{}{}", measurement.title, measurement.unit,
                     measurement.better == Better::smaller ? "smaller" : "bigger",
                     measurement.compared ? "; /x = this arm's p50 over x's" : "",
                     format_rows(rows), failures, measurement.note);
}

}  // namespace varve::bench
