#include "harness/report_json.h"

#include <nlohmann/json.hpp>

#include "harness/stats.h"

namespace varve::bench {
namespace {

// Ordered, so that the file reads like the tables.
using Json = nlohmann::ordered_json;

Json arm_json(const Series& series, const Measurement& measurement) {
  if (series.failed()) return {{"arm", series.arm}, {"error", series.error}};
  const Summary summary = summarize(series.samples);
  Json arm = {{"arm", series.arm},        {"p10", summary.p10},
              {"p50", summary.p50},       {"p90", summary.p90},
              {"p99", summary.p99},       {"max", summary.max},
              {"mean", summary.mean},     {"mean_over_p50", summary.mean_over_p50()},
              {"samples", series.samples}};
  if (!measurement.compared) return arm;
  for (const Series& base : measurement.series) {
    if (!base.failed()) arm["ratio"][base.arm] = ratio(summary, summarize(base.samples));
  }
  return arm;
}

Json measurement_json(const Measurement& measurement) {
  Json arms = Json::array();
  for (const Series& series : measurement.series) arms.push_back(arm_json(series, measurement));
  return {{"title", measurement.title},
          {"unit", measurement.unit},
          {"better", measurement.better == Better::smaller ? "smaller" : "bigger"},
          {"arms", std::move(arms)}};
}

}  // namespace

std::string format_json(const Environment& environment,
                        const std::vector<WorkloadReport>& reports) {
  Json root;
  for (const auto& [name, value] : environment) root["environment"][name] = value;
  root["workloads"] = Json::array();
  for (const WorkloadReport& report : reports) {
    Json measurements = Json::array();
    for (const Measurement& m : report.measurements) measurements.push_back(measurement_json(m));
    Json workload = {{"name", report.workload}, {"measurements", std::move(measurements)}};
    if (!report.error.empty()) workload["error"] = report.error;
    root["workloads"].push_back(std::move(workload));
  }
  return root.dump(1) + '\n';
}

}  // namespace varve::bench
