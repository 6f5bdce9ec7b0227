#include "harness/report_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace varve::bench {
namespace {

TEST(BenchReportJson, HoldsEnvironmentSamplesRatiosAndFailures) {
  const Measurement measurement{
      .title = "save",
      .unit = "ms",
      .better = Better::smaller,
      .compared = true,
      .series = {{"raw", {2, 2}, {}}, {"peer", {3, 3}, {}}, {"bad", {}, "lost a record"}}};
  const std::string text = format_json(
      {{"cpu", "abacus"}}, {{.workload = "save5", .error = {}, .measurements = {measurement}},
                            {.workload = "reads", .error = "no disk", .measurements = {}}});
  const auto root = nlohmann::json::parse(text);
  EXPECT_EQ(root["environment"]["cpu"], "abacus");
  const auto& arms = root["workloads"][0]["measurements"][0]["arms"];
  EXPECT_EQ(arms[1]["arm"], "peer");
  EXPECT_EQ(arms[1]["ratio"]["raw"], 1.5);
  EXPECT_EQ(arms[1]["samples"].size(), 2u);
  EXPECT_EQ(arms[2]["error"], "lost a record");
  EXPECT_EQ(root["workloads"][1]["error"], "no disk");
}

}  // namespace
}  // namespace varve::bench
