#include "world/segmented_list.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace varve {
namespace {

std::vector<int> contents_of(const SegmentedList<int>& list) { return {list.begin(), list.end()}; }

TEST(SegmentedList, IsWhatADequeIs) {
  std::mt19937 random(7);
  SegmentedList<int> list;
  std::deque<int> model;
  for (int step = 0; step < 5'000; ++step) {
    const unsigned what = random() % 100;
    if (what < 55) {
      list.push_back(step);
      model.push_back(step);
    } else if (what < 95 && !model.empty()) {
      list.pop_back();
      model.pop_back();
    } else if (what >= 98) {
      const std::size_t size = random() % 200;
      list.resize(size);
      model.resize(size);
    }
    ASSERT_EQ(list.size(), model.size());
    ASSERT_EQ(list.empty(), model.empty());
    if (model.empty()) continue;
    const std::size_t index = random() % model.size();
    list[index] = model[index] = step * 3;
    ASSERT_EQ(list.back(), model.back());
    ASSERT_EQ(contents_of(list), std::vector(model.begin(), model.end()));
  }
}

TEST(SegmentedList, NothingInItIsMovedWhenItGrowsOrIsSwapped) {
  SegmentedList<int> list;
  list.push_back(1);
  const int* const first = &list[0];
  for (int i = 2; i <= 1'000; ++i) list.push_back(i);
  SegmentedList<int> other;
  other.swap(list);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.begin(), list.end());
  EXPECT_EQ(&other[0], first);
  EXPECT_EQ(other[999], 1'000);
}

TEST(SegmentedList, WhatLeavesItIsLetGo) {
  SegmentedList<std::shared_ptr<int>> list;
  const auto held = std::make_shared<int>(1);
  for (int i = 0; i < 70; ++i) list.push_back(held);
  EXPECT_EQ(held.use_count(), 71);
  list.pop_back();
  EXPECT_EQ(held.use_count(), 70);
  list.resize(32);
  EXPECT_EQ(held.use_count(), 33);
  list = {};
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace varve
