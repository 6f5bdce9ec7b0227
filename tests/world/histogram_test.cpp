#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "varve/telemetry.h"

namespace varve {
namespace {

// Durations of all sizes between nanoseconds and minutes.
rc::Gen<std::vector<double>> durations() {
  const auto one = rc::gen::map(rc::gen::inRange(-8000, 29000),
                                [](int thousandths) { return std::exp2(thousandths / 1000.0); });
  return rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(one));
}

Histogram histogram_of(const std::vector<double>& values) {
  Histogram histogram;
  for (const double value : values) histogram.add(value);
  return histogram;
}

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.percentile(0.5), 0);
}

RC_GTEST_PROP(Histogram, APercentileIsRightWithinAFifth, ()) {
  std::vector<double> values = *durations();
  const Histogram histogram = histogram_of(values);
  std::sort(values.begin(), values.end());
  for (const double p : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    const double rank = std::max(1.0, std::ceil(p * static_cast<double>(values.size())));
    const double exact = values[static_cast<std::size_t>(rank) - 1];
    const double found = histogram.percentile(p);
    RC_ASSERT(found >= exact);
    RC_ASSERT(found <= std::max(exact * 1.2, 0.25));
  }
}

RC_GTEST_PROP(Histogram, CountMeanAndMaxAreExact, ()) {
  const std::vector<double> values = *durations();
  const Histogram histogram = histogram_of(values);
  RC_ASSERT(histogram.count() == values.size());
  RC_ASSERT(histogram.max() == *std::max_element(values.begin(), values.end()));
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  RC_ASSERT(std::abs(histogram.mean() * static_cast<double>(values.size()) - sum) <= sum * 1e-9);
}

TEST(Histogram, EachBucketHoldsWhatItsStartSays) {
  for (std::size_t i = 0; i < Histogram::kBucketCount; ++i) {
    const double start = Histogram::bucket_start(i);
    ASSERT_LT(start, Histogram::bucket_start(i + 1));
    Histogram histogram;
    histogram.add(start);
    EXPECT_EQ(histogram.buckets()[i], 1u) << "the start of " << i;
    if (i == 0) continue;
    histogram.add(std::nextafter(start, 0));
    EXPECT_EQ(histogram.buckets()[i - 1], 1u) << "just below " << i;
    EXPECT_TRUE(i == 1 || start / Histogram::bucket_start(i - 1) < 1.2) << i;
  }
}

TEST(Histogram, NonsenseCountsAsZero) {
  Histogram histogram;
  histogram.add(-5);
  histogram.add(std::numeric_limits<double>::quiet_NaN());
  histogram.add(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(histogram.buckets()[0], 3u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.percentile(1), 0);
  histogram.add(8);
  EXPECT_EQ(histogram.percentile(std::numeric_limits<double>::quiet_NaN()), 0.25);
  EXPECT_EQ(histogram.percentile(-1), 0.25);
  EXPECT_EQ(histogram.percentile(7), 8);
}

TEST(Histogram, TheLastBucketHoldsEverythingAbove) {
  Histogram histogram;
  histogram.add(1e18);
  EXPECT_EQ(histogram.buckets().back(), 1u);
  EXPECT_EQ(histogram.percentile(0.5), 1e18);
}

}  // namespace
}  // namespace varve
