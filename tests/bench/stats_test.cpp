#include "harness/stats.h"

#include <gtest/gtest.h>

#include <vector>

namespace varve::bench {
namespace {

TEST(BenchStats, MedianOfAnOddCountIsTheMiddle) {
  EXPECT_DOUBLE_EQ(percentile(std::vector{9.0, 1.0, 5.0}, 0.5), 5.0);
}

TEST(BenchStats, MedianOfAnEvenCountLiesBetweenTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(percentile(std::vector{4.0, 1.0, 3.0, 2.0}, 0.5), 2.5);
}

TEST(BenchStats, PercentilesInterpolateAndEndAtTheExtremes) {
  const std::vector<double> samples = {0, 10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(percentile(samples, 0), 0);
  EXPECT_DOUBLE_EQ(percentile(samples, 0.1), 4);
  EXPECT_DOUBLE_EQ(percentile(samples, 0.9), 36);
  EXPECT_DOUBLE_EQ(percentile(samples, 1), 40);
}

TEST(BenchStats, NoSamplesAreZeroAndOneIsItself) {
  EXPECT_DOUBLE_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(summarize({}).sample_count, 0u);
  const Summary one = summarize(std::vector{7.0});
  EXPECT_DOUBLE_EQ(one.p10, 7);
  EXPECT_DOUBLE_EQ(one.p50, 7);
  EXPECT_DOUBLE_EQ(one.p90, 7);
  EXPECT_DOUBLE_EQ(one.p99, 7);
  EXPECT_DOUBLE_EQ(one.max, 7);
}

TEST(BenchStats, TheLongestSampleIsSeen) {
  std::vector<double> samples(1000, 1.0);
  samples[500] = 50.0;
  const Summary summary = summarize(samples);
  EXPECT_DOUBLE_EQ(summary.p99, 1);
  EXPECT_DOUBLE_EQ(summary.max, 50);
}

// One stall in ten is invisible to the median; mean / p50 must show it.
TEST(BenchStats, MeanOverMedianShowsStalls) {
  std::vector<double> samples(10, 1.0);
  samples[3] = 11.0;
  const Summary summary = summarize(samples);
  EXPECT_DOUBLE_EQ(summary.p50, 1);
  EXPECT_DOUBLE_EQ(summary.mean_over_p50(), 2);
}

TEST(BenchStats, RatioIsMedianOverMedian) {
  const Summary raw = summarize(std::vector{2.0, 2.0, 100.0});
  const Summary arm = summarize(std::vector{3.0, 3.0, 3.0});
  EXPECT_DOUBLE_EQ(ratio(arm, raw), 1.5);
}

TEST(BenchStats, RatioToNothingIsZero) {
  const Summary arm = summarize(std::vector{3.0});
  EXPECT_DOUBLE_EQ(ratio(arm, {}), 0);
  EXPECT_DOUBLE_EQ(ratio({}, arm), 0);
  EXPECT_DOUBLE_EQ(ratio(arm, summarize(std::vector{0.0})), 0);
}

}  // namespace
}  // namespace varve::bench
