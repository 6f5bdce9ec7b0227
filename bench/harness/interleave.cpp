#include "harness/interleave.h"

#include <algorithm>

namespace varve::bench {

// Williams' design: 0, 1, n-1, 2, n-2, ... shifted by the round. For an odd count
// it is balanced only together with its mirror image, which the next n rounds use.
std::vector<std::size_t> turns_of_round(std::size_t arm_count, std::size_t round) {
  std::vector<std::size_t> turns;
  for (std::size_t place = 0; place < arm_count; ++place) {
    const std::size_t half = (place + 1) / 2;
    const std::size_t base = place % 2 == 1 ? half : arm_count - half;
    turns.push_back((base + round) % arm_count);
  }
  if (arm_count % 2 == 1 && round / arm_count % 2 == 1) std::reverse(turns.begin(), turns.end());
  return turns;
}

void interleave(std::vector<Series>& series, Rounds rounds,
                const std::function<void()>& begin_round,
                const std::function<Result<double>(std::size_t arm_index)>& sample) {
  for (std::size_t round = 0; round < rounds.warm_up_count + rounds.count; ++round) {
    begin_round();
    for (const std::size_t arm_index : turns_of_round(series.size(), round)) {
      Series& arm = series[arm_index];
      if (arm.failed()) continue;
      const Result<double> value = sample(arm_index);
      if (!value) {
        arm.error = value.error().message();
      } else if (round >= rounds.warm_up_count) {
        arm.samples.push_back(*value);
      }
    }
  }
}

}  // namespace varve::bench
