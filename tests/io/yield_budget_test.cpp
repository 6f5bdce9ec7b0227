#include "io/yield_budget.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

TEST(YieldBudget, IsDueAfterEachPieceOfWork) {
  YieldBudget budget;
  EXPECT_FALSE(budget.is_due(YieldBudget::kPieceSize - 1));
  EXPECT_TRUE(budget.is_due(1));
  EXPECT_TRUE(budget.may_yield(1'000));
  EXPECT_FALSE(budget.is_due(YieldBudget::kPieceSize - 1)) << "the next piece begins";
  EXPECT_TRUE(budget.is_due(YieldBudget::kPieceSize));
}

TEST(YieldBudget, NobodyWhoWaitedMeansNoRest) {
  YieldBudget budget;
  budget.has_yielded(1'000, 1'000);
  EXPECT_TRUE(budget.may_yield(1'000));
}

// A game that never sleeps does not keep a save from ever being made.
TEST(YieldBudget, AfterALongWaitThereIsWorkFirst) {
  YieldBudget budget;
  budget.has_yielded(0, 80'000);
  EXPECT_FALSE(budget.may_yield(80'000));
  EXPECT_FALSE(budget.may_yield(89'999));
  EXPECT_TRUE(budget.may_yield(90'000));
}

}  // namespace
}  // namespace varve
