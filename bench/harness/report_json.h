// A run as JSON, for programs that compare runs.
#pragma once

#include <string>
#include <vector>

#include "harness/environment.h"
#include "harness/measurement.h"

namespace varve::bench {

struct WorkloadReport {
  std::string workload;
  std::string error;  // why nothing could be measured; empty if something was
  std::vector<Measurement> measurements;
};

// {"environment": {...}, "workloads": [{"name", "error", "measurements": [{"title", "unit",
// "better", "arms": [{"arm", "error" | "p10" ... "samples", "ratio": {"raw": 1.2}}]}]}]}
std::string format_json(const Environment& environment, const std::vector<WorkloadReport>& reports);

}  // namespace varve::bench
