#include "world/record_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

namespace varve {
namespace {

using Table = RecordTable<int, int>;

TEST(RecordTable, AChangeMakesARecordDirtyUntilItsBatchIsStored) {
  Table table;
  table.insert_clean(1, 10);
  EXPECT_FALSE(table.is_dirty(*table.find(1)));
  table.change(1, 11);
  EXPECT_TRUE(table.is_dirty(*table.find(1)));
  const Table::BatchOf batch = table.cut();
  ASSERT_EQ(batch.entries.size(), 1U);
  EXPECT_EQ(batch.entries[0].value, 11);
  EXPECT_TRUE(table.is_dirty(*table.find(1)));
  table.stored(batch.ids);
  EXPECT_FALSE(table.is_dirty(*table.find(1)));
  EXPECT_EQ(table.dirty_count(), 0U);
}

TEST(RecordTable, ARecordThatChangedAgainStaysDirtyWhenItsOldBatchIsStored) {
  Table table;
  table.change(1, 10);
  const Table::BatchOf first = table.cut();
  table.change(1, 11);
  table.stored(first.ids);
  EXPECT_TRUE(table.is_dirty(*table.find(1)));
  EXPECT_EQ(table.dirty_count(), 1U);
  const Table::BatchOf second = table.cut();
  table.stored(second.ids);
  EXPECT_FALSE(table.is_dirty(*table.find(1)));
}

TEST(RecordTable, RepeatedChangesAreOneEntry) {
  Table table;
  for (int i = 0; i < 100; ++i) table.change(1, i);
  const Table::BatchOf batch = table.cut();
  ASSERT_EQ(batch.entries.size(), 1U);
  EXPECT_EQ(batch.entries[0].value, 99);
}

TEST(RecordTable, ADirtyRecordIsNotDropped) {
  Table table;
  table.change(1, std::nullopt);
  EXPECT_FALSE(table.drop(1));
  const Table::BatchOf batch = table.cut();
  EXPECT_FALSE(table.drop(1));
  table.stored(batch.ids);
  EXPECT_TRUE(table.drop(1));
  EXPECT_EQ(table.find(1), nullptr);
}

TEST(RecordTable, WhatIsInMemoryIsNotReplacedByALoad) {
  Table table;
  table.change(1, 10);
  table.insert_clean(1, 5);
  EXPECT_EQ(table.find(1)->value, 10);
}

// Random changes, cuts of all and of some, and batches stored in order, against a model
// that knows what the store holds.
TEST(RecordTable, AfterStoringEverythingTheStoreEqualsTheTable) {
  rc::check([] {
    Table table;
    std::map<int, std::optional<int>> memory;
    std::map<int, std::optional<int>> store;
    std::vector<Table::BatchOf> on_the_way;
    const auto store_oldest = [&] {
      const Table::BatchOf batch = std::move(on_the_way.front());
      on_the_way.erase(on_the_way.begin());
      std::set<int> seen;
      for (const auto& entry : batch.entries) {
        RC_ASSERT(seen.insert(entry.key).second);
        store[entry.key] = entry.value;
      }
      table.stored(batch.ids);
    };
    const int step_count = *rc::gen::inRange(1, 60);
    for (int step = 0; step < step_count; ++step) {
      const int key = *rc::gen::inRange(0, 6);
      switch (*rc::gen::inRange(0, 6)) {
        case 0:
        case 1:
          table.change(key, step);
          memory[key] = step;
          break;
        case 2:
          table.change(key, std::nullopt);
          memory[key] = std::nullopt;
          break;
        case 3:
          on_the_way.push_back(table.cut());
          break;
        case 4: {
          const auto keys = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
          Table::BatchOf some = table.cut_some(keys);
          if (!some.ids.empty()) on_the_way.push_back(std::move(some));
          break;
        }
        default:
          if (!on_the_way.empty()) store_oldest();
      }
      std::size_t dirty_count = 0;
      for (const auto& [k, value] : memory) {
        const Table::Slot* slot = table.find(k);
        RC_ASSERT(slot != nullptr && slot->value == value);
        if (table.is_dirty(*slot)) {
          ++dirty_count;
        } else {
          RC_ASSERT(store.at(k) == value);
        }
      }
      RC_ASSERT(table.dirty_count() == dirty_count);
    }
    on_the_way.push_back(table.cut());
    while (!on_the_way.empty()) store_oldest();
    RC_ASSERT(table.dirty_count() == 0U);
    RC_ASSERT(store == memory);
  });
}

}  // namespace
}  // namespace varve
