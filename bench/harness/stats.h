// What the samples of one arm come to.
//
// The p50 is what ratios are made of: on a shared machine a mean is whatever the
// neighbours did. The mean beside it still matters, because mean / p50 shows the
// stalls (checkpoints, compactions) that a median hides.
#pragma once

#include <cstddef>
#include <span>

namespace varve::bench {

struct Summary {
  std::size_t sample_count = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;

  // 0 where there is nothing to divide by.
  double mean_over_p50() const noexcept { return p50 == 0 ? 0 : mean / p50; }
};

// The value below which `fraction` (0 to 1) of the samples lie, interpolated
// between neighbours. 0 without samples.
double percentile(std::span<const double> samples, double fraction);

Summary summarize(std::span<const double> samples);

// p50 over p50. 0 if either has no samples or the base is 0.
double ratio(const Summary& arm, const Summary& base) noexcept;

}  // namespace varve::bench
