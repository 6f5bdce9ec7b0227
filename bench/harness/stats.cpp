#include "harness/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace varve::bench {
namespace {

double percentile_of_sorted(std::span<const double> sorted, double fraction) {
  if (sorted.empty()) return 0;
  const double position = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * part;
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double percentile(std::span<const double> samples, double fraction) {
  return percentile_of_sorted(sorted_copy(samples), fraction);
}

Summary summarize(std::span<const double> samples) {
  if (samples.empty()) return {};
  const std::vector<double> sorted = sorted_copy(samples);
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return {.sample_count = sorted.size(),
          .p10 = percentile_of_sorted(sorted, 0.1),
          .p50 = percentile_of_sorted(sorted, 0.5),
          .p90 = percentile_of_sorted(sorted, 0.9),
          .p99 = percentile_of_sorted(sorted, 0.99),
          .max = sorted.back(),
          .mean = sum / static_cast<double>(sorted.size())};
}

double ratio(const Summary& arm, const Summary& base) noexcept {
  if (arm.sample_count == 0 || base.sample_count == 0 || base.p50 == 0) return 0;
  return arm.p50 / base.p50;
}

}  // namespace varve::bench
