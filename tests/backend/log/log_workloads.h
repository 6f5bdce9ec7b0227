// Workloads for a small log.
#pragma once

#include <initializer_list>
#include <string_view>

#include "crash/io_error_sweep.h"
#include "crash/subject.h"

namespace varve::test {

// Bytes that cannot be told from noise, the same for the same number.
Bytes noise(std::size_t size, std::uint64_t seed);

crash::Step put(std::string_view key, std::size_t size, std::uint64_t seed);
crash::Step erase(std::initializer_list<std::string_view> keys);
crash::Step upkeep(std::string_view name);

// Puts, overwrites and erasures of six keys, in batches that fill a segment in a few steps and are
// sometimes larger than one.
crash::Workload random_workload(std::size_t step_count, std::uint64_t seed);

// Makes a small log do everything it does: grow, roll over, write checkpoints, punch holes, move
// records, remove segments and, opened again, recycle one.
crash::Workload busy_workload(std::uint64_t seed);

// A save with what `workload` leaves.
crash::Start start_after(crash::Subject& subject, const crash::Workload& workload);

}  // namespace varve::test
