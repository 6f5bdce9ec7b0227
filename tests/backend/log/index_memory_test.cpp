// What an index costs in memory. These are bytes, not times, and the same in every run.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backend/log/index.h"
#include "index_world.h"
#include "support/allocation_watch.h"

namespace varve::log {
namespace {

using test::chunk_key;
using test::location_of;

std::vector<std::string> square(int width) {
  std::vector<std::string> keys;
  for (int x = 0; x < width; ++x) {
    for (int z = 0; z < width; ++z) keys.push_back(chunk_key(x - width / 2, z - width / 2));
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937(5));
  return keys;
}

std::vector<std::string> scattered(std::size_t count, unsigned bit_count) {
  std::mt19937 random(6);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<std::int32_t>(random() >> (32 - bit_count));
    keys.push_back(chunk_key(x, static_cast<std::int32_t>(random() >> (32 - bit_count))));
  }
  return keys;
}

double entry_size(const Index& index) {
  return static_cast<double>(index.memory_size()) / static_cast<double>(index.count());
}

// The most an entry costs while keys are put one after the other, from `count_min` on.
double largest_entry_size(const std::vector<std::string>& keys, std::size_t count_min) {
  Index index;
  index.ensure_order();
  double largest = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    index.put(as_byte_view(keys[i]), location_of(i));
    if (index.count() >= count_min) largest = std::max(largest, entry_size(index));
  }
  return largest;
}

TEST(IndexMemory, ADenseWorld) {
  EXPECT_LE(largest_entry_size(square(1000), 800'000), 20);
  EXPECT_LE(largest_entry_size(square(316), 60'000), 20);
}

// Half of its chunks are there when the measure is first taken.
TEST(IndexMemory, ADenseWorldThatGrows) {
  EXPECT_LE(largest_entry_size(square(1264), 800'000), 20);
}

TEST(IndexMemory, ASparseWorld) {
  EXPECT_LE(largest_entry_size(scattered(1'600'000, 24), 800'000), 40);
}

TEST(IndexMemory, WhatLiesBetween) {
  EXPECT_LE(largest_entry_size(scattered(400'000, 11), 200'000), 20);
  EXPECT_LE(largest_entry_size(scattered(400'000, 14), 200'000), 40);
}

TEST(IndexMemory, AnOrderThatIsMadeLaterCostsNoMore) {
  const std::vector<std::string> keys = scattered(100'000, 24);
  Index index;
  Index later;
  index.ensure_order();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    index.put(as_byte_view(keys[i]), location_of(i));
    later.put(as_byte_view(keys[i]), location_of(i));
  }
  later.ensure_order();
  EXPECT_LE(later.memory_size(), index.memory_size());
}

TEST(IndexMemory, IsWhatIsAllocated) {
  const varve::test::AllocationWatch watch;
  Index index;
  index.ensure_order();
  const std::vector<std::string> keys = scattered(20'000, 24);
  const std::size_t keys_size = watch.live_size();
  for (std::size_t i = 0; i < keys.size(); ++i) index.put(as_byte_view(keys[i]), location_of(i));
  const std::size_t allocated = watch.live_size() - keys_size;
  // The watch sees what malloc rounds up to.
  EXPECT_LE(index.memory_size(), allocated + allocated / 10);
  EXPECT_GE(index.memory_size() + index.memory_size() / 10, allocated);
}

TEST(IndexMemory, AWorldThatShrankCostsLess) {
  const std::vector<std::string> keys = square(316);
  Index index;
  for (std::size_t i = 0; i < keys.size(); ++i) index.put(as_byte_view(keys[i]), location_of(i));
  const std::size_t full_size = index.memory_size();
  for (const std::string& key : keys) index.erase(as_byte_view(key));
  EXPECT_EQ(index.count(), 0u);
  EXPECT_LT(index.memory_size(), full_size / 4);
}

}  // namespace
}  // namespace varve::log
