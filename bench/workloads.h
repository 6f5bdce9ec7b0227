#pragma once

#include "harness/workload.h"

namespace varve::bench {

// Every workload, in the order of the list in bench/CMakeLists.txt, from which the
// definition is generated.
Workloads all_workloads();

}  // namespace varve::bench
