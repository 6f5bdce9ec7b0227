#include "base/persistent_map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

namespace varve {
namespace {

using Map = PersistentMap<int, int>;
using Model = std::map<int, int>;

Model contents(const Map& map) {
  Model model;
  map.visit([&](int key, int value) {
    model.emplace_hint(model.end(), key, value);
    return true;
  });
  return model;
}

// Invariants checked: every version ever made still shows exactly what it showed; keys
// come in order; find, visit_from and size agree with the model.
RC_GTEST_PROP(PersistentMap, EveryVersionStaysAsItWas, ()) {
  const auto key = rc::gen::inRange(0, 40);
  std::vector<std::pair<Map, Model>> versions(1);
  const auto commits = *rc::gen::container<std::vector<std::vector<std::pair<int, bool>>>>(
      rc::gen::container<std::vector<std::pair<int, bool>>>(
          rc::gen::pair(key, rc::gen::arbitrary<bool>())));
  int value = 0;
  for (const auto& changes : commits) {
    auto [map, model] = versions.back();
    const MapEdit edit;
    for (const auto& [at, put] : changes) {
      if (put) {
        map.put(edit, at, ++value);
        model[at] = value;
      } else {
        RC_ASSERT(map.erase(edit, at) == (model.erase(at) == 1));
      }
    }
    versions.emplace_back(map, model);
  }
  for (const auto& [map, model] : versions) {
    RC_ASSERT(contents(map) == model);
    RC_ASSERT(map.size() == model.size());
    const int from = *key;
    Model rest;
    map.visit_from(from, [&](int at, int v) { return rest.emplace(at, v).second; });
    RC_ASSERT(rest == Model(model.lower_bound(from), model.end()));
    for (int at = 0; at < 40; ++at) {
      const int* found = map.find(at);
      RC_ASSERT((found != nullptr) == model.contains(at));
      if (found != nullptr) RC_ASSERT(*found == model.at(at));
    }
  }
}

struct CountsComparisons {
  int value = 0;
  static inline int count = 0;
  friend std::strong_ordering operator<=>(const CountsComparisons& a, const CountsComparisons& b) {
    ++count;
    return a.value <=> b.value;
  }
};

TEST(PersistentMap, StaysShallowWhateverTheOrderOfKeys) {
  PersistentMap<CountsComparisons, int> map;
  const MapEdit edit;
  constexpr int kCount = 1 << 14;
  for (int i = 0; i < kCount; ++i) map.put(edit, {i}, i);
  for (int i = 0; i < kCount; i += 2) map.erase(edit, CountsComparisons{i});
  for (int i = 1; i < kCount; i += 2) {
    CountsComparisons::count = 0;
    ASSERT_NE(map.find(CountsComparisons{i}), nullptr);
    // 1.44 log2 of the 16,384 keys there were.
    ASSERT_LE(CountsComparisons::count, 21);
  }
}

TEST(PersistentMap, WhatNoVersionShowsIsGone) {
  PersistentMap<int, std::shared_ptr<int>> map;
  const auto first = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = [&] {
    auto value = std::make_shared<int>(2);
    const MapEdit edit;
    for (int i = 0; i < 100; ++i) map.put(edit, i, first);
    map.put(edit, 50, value);
    return std::weak_ptr<int>(value);
  }();
  auto before = map;
  {
    const MapEdit edit;
    map.put(edit, 50, first);
  }
  EXPECT_FALSE(watched.expired());
  before = map;
  EXPECT_TRUE(watched.expired());
}

TEST(PersistentMap, VisitingStopsWhenTold) {
  Map map;
  const MapEdit edit;
  for (int i = 0; i < 100; ++i) map.put(edit, i, i);
  std::vector<int> seen;
  EXPECT_FALSE(map.visit_from(37, [&](int key, int) {
    seen.push_back(key);
    return seen.size() < 3;
  }));
  EXPECT_EQ(seen, (std::vector{37, 38, 39}));
}

}  // namespace
}  // namespace varve
