#include "harness/interleave.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace varve::bench {
namespace {

std::vector<Series> three_arms() { return {{"a", {}, {}}, {"b", {}, {}}, {"c", {}, {}}}; }

// Over a full cycle every arm comes first, and behind every other, equally often;
// else one arm would always inherit what the same neighbour left unfinished.
TEST(BenchInterleave, OrderIsBalanced) {
  for (const std::size_t arm_count : {1u, 2u, 3u, 6u, 7u}) {
    const std::size_t cycle = arm_count % 2 == 0 ? arm_count : 2 * arm_count;
    std::map<std::size_t, std::size_t> first;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> behind;
    for (std::size_t round = 0; round < cycle; ++round) {
      const std::vector<std::size_t> turns = turns_of_round(arm_count, round);
      EXPECT_EQ(std::set<std::size_t>(turns.begin(), turns.end()).size(), arm_count);
      ++first[turns[0]];
      for (std::size_t i = 1; i < turns.size(); ++i) ++behind[{turns[i - 1], turns[i]}];
    }
    for (std::size_t a = 0; a < arm_count; ++a) {
      EXPECT_EQ(first[a], cycle / arm_count) << arm_count;
      for (std::size_t b = 0; b < arm_count; ++b) {
        EXPECT_EQ((behind[{a, b}]), a == b ? 0 : cycle / arm_count) << arm_count;
      }
    }
  }
}

TEST(BenchInterleave, EveryArmHasOneTurnARound) {
  std::vector<Series> series = three_arms();
  std::string turns;
  interleave(
      series, {.warm_up_count = 1, .count = 2}, [&] { turns += '|'; },
      [&](std::size_t arm_index) -> Result<double> {
        turns += series[arm_index].arm;
        return 1.0;
      });
  EXPECT_EQ(turns, "|abc|bca|cab");
}

TEST(BenchInterleave, WarmUpRoundsAreThrownAway) {
  std::vector<Series> series = three_arms();
  double round = 0;
  interleave(
      series, {.warm_up_count = 2, .count = 3}, [&] { ++round; },
      [&](std::size_t) -> Result<double> { return round; });
  EXPECT_EQ(series[1].samples, (std::vector<double>{3, 4, 5}));
}

TEST(BenchInterleave, AFailedArmIsLeftOutAndTheOthersGoOn) {
  std::vector<Series> series = three_arms();
  int calls_of_b = 0;
  interleave(
      series, {.warm_up_count = 0, .count = 4}, [] {},
      [&](std::size_t arm_index) -> Result<double> {
        if (arm_index == 1 && ++calls_of_b == 2) return corruption("wrong bytes");
        return 1.0;
      });
  EXPECT_EQ(calls_of_b, 2);
  EXPECT_EQ(series[1].error, "wrong bytes");
  EXPECT_EQ(series[0].samples.size(), 4u);
  EXPECT_EQ(series[2].samples.size(), 4u);
}

}  // namespace
}  // namespace varve::bench
