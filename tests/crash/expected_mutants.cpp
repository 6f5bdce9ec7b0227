#include "crash/expected_mutants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string>

#include "crash/mutants.h"

namespace varve::crash {
namespace {

// "moved operation 3 (write ...) behind 4 (sync ...)": 3 and 4.
std::vector<std::size_t> operations_of(const std::string& mutant) {
  std::string text = mutant.substr(0, mutant.find(':'));
  for (std::size_t at = 0; (at = text.find(" (")) != std::string::npos;) {
    text.erase(at, text.find(')', at) + 1 - at);
  }
  std::vector<std::size_t> numbers;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::size_t number = 0;
    const auto read = std::from_chars(at, text.data() + text.size(), number);
    if (read.ec == std::errc()) numbers.push_back(number);
    at = read.ec == std::errc() ? read.ptr : at + 1;
  }
  return numbers;
}

}  // namespace

void expect_mutants(std::string_view what, Subject& subject, const Workload& workload,
                    const Start& start, const ExpectedMutants& expected,
                    const SweepOptions& options) {
  auto run = record_run(subject, workload, start.image, {start.records}, 1);
  ASSERT_TRUE(run) << run.error().message();
  const auto result = sweep_mutants(subject, *std::move(run), options);
  std::cout << what << ": " << result.mutant_count << " mutants, " << result.caught_count
            << " caught, " << result.infeasible.size() << " infeasible, " << result.survivors.size()
            << " explained\n";
  std::set<std::size_t> dropped;
  for (const std::string& survivor : result.survivors) {
    std::vector<std::size_t> numbers = operations_of(survivor);
    if (survivor.starts_with("dropped")) dropped.insert(numbers.front());
    std::erase_if(numbers,
                  [&](std::size_t number) { return expected.irrelevant.contains(number); });
    const auto covers = [&](const Explained& range) {
      return std::all_of(numbers.begin(), numbers.end(), [&](std::size_t number) {
        return number >= range.first && number <= range.last;
      });
    };
    EXPECT_TRUE(std::any_of(expected.explained.begin(), expected.explained.end(), covers))
        << what << ": " << survivor;
  }
  EXPECT_EQ(dropped, expected.dropped) << what;
  EXPECT_EQ(result.caught_count, expected.caught_count) << result.summary();
  EXPECT_EQ(result.infeasible.size(), expected.infeasible_count);
  EXPECT_EQ(result.survivors.size(), expected.survivor_count);
}

}  // namespace varve::crash
