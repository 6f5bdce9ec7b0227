#include "harness/table.h"

#include <gtest/gtest.h>

namespace varve::bench {
namespace {

TEST(BenchTable, NamesAlignLeftAndNumbersRight) {
  EXPECT_EQ(format_rows({{"arm", "p50"}, {"sqlite", "1.5"}, {"raw", "12.25"}}),
            "arm       p50\n"
            "-------------\n"
            "sqlite    1.5\n"
            "raw     12.25\n");
}

TEST(BenchTable, ShortRowsLeaveNoTrailingBlanks) {
  EXPECT_EQ(format_rows({{"arm", "p50"}, {"a"}}), "arm  p50\n--------\na\n");
}

TEST(BenchTable, NumbersHaveThreeSignificantDigits) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(0.0012345), "0.00123");
  EXPECT_EQ(format_number(0.5), "0.500");
  EXPECT_EQ(format_number(9.996), "10.0");
  EXPECT_EQ(format_number(12.345), "12.3");
  EXPECT_EQ(format_number(123456.7), "123457");
  EXPECT_EQ(format_number(-1.5), "-1.50");
}

Measurement example() {
  return {.title = "save",
          .unit = "ms",
          .better = Better::smaller,
          .compared = true,
          .series = {{"peer", {3, 3}, {}}, {"raw", {2, 2}, {}}, {"bad", {1}, "lost a record"}}};
}

TEST(BenchTable, RatiosNameRawFirstAndLeaveFailedArmsOut) {
  EXPECT_EQ(format_measurement(example()),
            "save [ms], smaller is better; /x = this arm's p50 over x's\n"
            "arm    p50   p10   p90   p99   max  mean  mean/p50  samples  /raw  /peer\n"
            "------------------------------------------------------------------------\n"
            "peer  3.00  3.00  3.00  3.00  3.00  3.00      1.00        2  1.50   1.00\n"
            "raw   2.00  2.00  2.00  2.00  2.00  2.00      1.00        2  1.00   0.67\n"
            "FAILED bad: lost a record\n");
}

TEST(BenchTable, ANoteStandsBelow) {
  Measurement noted = example();
  noted.note = "it rained\n";
  const std::string text = format_measurement(noted);
  EXPECT_EQ(text.substr(text.size() - 10), "it rained\n");
}

TEST(BenchTable, SmallRatiosAreNotRoundedToNothing) {
  Measurement tiny = example();
  tiny.series[0].samples = {0.0001, 0.0001};
  EXPECT_NE(format_measurement(tiny).find("0.0000500"), std::string::npos)
      << format_measurement(tiny);
}

TEST(BenchTable, WhatIsARatioAlreadyIsNotCompared) {
  Measurement size = example();
  size.compared = false;
  EXPECT_EQ(format_measurement(size).find("/raw"), std::string::npos);
}

}  // namespace
}  // namespace varve::bench
