#include "world/autosave_timer.h"

#include <gtest/gtest.h>

#include <limits>

namespace varve {
namespace {

TEST(AutosaveTimer, IsDueAtTheIntervalAndNotBefore) {
  AutosaveTimer timer({.interval_s = 10});
  EXPECT_FALSE(timer.advance(9.5));
  EXPECT_TRUE(timer.advance(0.5));
  EXPECT_TRUE(timer.advance(0)) << "due until a save finishes";
  timer.restart(true);
  EXPECT_FALSE(timer.advance(9.5));
}

TEST(AutosaveTimer, DisabledItIsNeverDue) {
  AutosaveTimer timer({.enabled = false, .interval_s = 1});
  EXPECT_FALSE(timer.advance(999));
}

TEST(AutosaveTimer, AfterFailuresItRetriesSoonThenTwiceAsLateUpToTheInterval) {
  AutosaveTimer timer({.interval_s = 30, .retry_s = 5});
  timer.restart(false);
  EXPECT_EQ(timer.wait_s(), 5);
  timer.restart(false);
  EXPECT_EQ(timer.wait_s(), 10);
  timer.restart(false);
  EXPECT_EQ(timer.wait_s(), 20);
  for (int i = 0; i < 100; ++i) timer.restart(false);
  EXPECT_EQ(timer.wait_s(), 30);
  timer.restart(true);
  EXPECT_EQ(timer.wait_s(), 30);
  timer.restart(false);
  EXPECT_EQ(timer.wait_s(), 5) << "a success forgets the failures before it";
}

TEST(AutosaveTimer, TimeThatMakesNoSenseDoesNotPass) {
  AutosaveTimer timer({.interval_s = 1});
  for (const double dt :
       {-5.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(timer.advance(dt));
}

TEST(AutosaveTimer, RefusesTimesThatAreNotPositive) {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(AutosaveTimer::check({.interval_s = bad}));
    EXPECT_FALSE(AutosaveTimer::check({.retry_s = bad}));
  }
  EXPECT_TRUE(AutosaveTimer::check({}));
}

}  // namespace
}  // namespace varve
