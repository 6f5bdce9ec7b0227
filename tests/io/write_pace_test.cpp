#include "io/write_pace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace varve {
namespace {

constexpr std::size_t kLarge = std::size_t{64} << 20;

TEST(WritePace, IsThatOfTheThreadAndEndsWithItsObject) {
  EXPECT_FALSE(is_paced());
  EXPECT_EQ(paced_piece_size(kLarge), kLarge);
  {
    const PacedWrites paced(std::uint64_t{1} << 40);
    EXPECT_TRUE(is_paced());
    EXPECT_LT(paced_piece_size(kLarge), kLarge);
    EXPECT_EQ(paced_piece_size(1), 1u);
    std::thread([] { EXPECT_FALSE(is_paced()); }).join();
    {
      const PacedWrites not_at_all(0);
      EXPECT_FALSE(is_paced());
    }
    EXPECT_TRUE(is_paced());
  }
  EXPECT_FALSE(is_paced());
}

TEST(WritePace, NobodyTakesTheirTimeWhileSomebodyWaits) {
  std::atomic<int> waiter_count = 0;
  // At a byte a second this would outlive the test.
  const PacedWrites paced(1, &waiter_count);
  EXPECT_TRUE(is_paced());
  waiter_count = 1;
  EXPECT_FALSE(is_paced());
  pace_written(kLarge);
  waiter_count = 0;
  EXPECT_TRUE(is_paced());
  const PacedWrites inner(1);
  waiter_count = 1;
  EXPECT_TRUE(is_paced()) << "who waits for something else";
}

}  // namespace
}  // namespace varve
