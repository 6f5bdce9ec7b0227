#include "backend/log/log_workloads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "io/sim/sim_disk.h"

namespace varve::test {

Bytes noise(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return Bytes::copy_of(text);
}

crash::Step put(std::string_view key, std::size_t size, std::uint64_t seed) {
  return {.changes = {{std::string(key), noise(size, seed)}}};
}

crash::Step erase(std::initializer_list<std::string_view> keys) {
  crash::Step step;
  for (const std::string_view key : keys) step.changes[std::string(key)] = std::nullopt;
  return step;
}

crash::Step upkeep(std::string_view name) { return {.changes = {}, .upkeep = std::string(name)}; }

crash::Workload random_workload(std::size_t step_count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  crash::Workload workload(step_count);
  for (crash::Step& step : workload) {
    const std::size_t change_count = 1 + random() % 3;
    for (std::size_t j = 0; j < change_count; ++j) {
      const std::string key = fmt::format("chunk{}", random() % 6);
      const std::size_t sizes[] = {0, 100, 3000, 6000, 11000, 20000};
      const std::size_t size = sizes[random() % 6];
      step.changes[key] = noise(size, random());
      if (random() % 5 == 0) step.changes[key] = std::nullopt;
    }
  }
  return workload;
}

crash::Workload busy_workload(std::uint64_t seed) {
  crash::Workload workload = random_workload(14, seed);
  workload.insert(workload.begin() + 7, upkeep("reopen"));
  workload.push_back(put("chunk0", 3000, seed));
  return workload;
}

crash::Start start_after(crash::Subject& subject, const crash::Workload& workload) {
  sim::SimDisk disk;
  crash::Start start;
  {
    const auto session = subject.open(disk).value();
    for (const crash::Step& step : workload) {
      EXPECT_TRUE(session->apply(step));
      start.records = crash::after(std::move(start.records), step);
    }
    EXPECT_TRUE(session->close());
  }
  start.image = disk.image();
  return start;
}

}  // namespace varve::test
