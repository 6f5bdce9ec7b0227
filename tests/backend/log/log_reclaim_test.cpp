// Space that comes back, and space that does not while somebody needs it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/log/log_views.h"
#include "backend/log/small_log.h"
#include "backend/log/snapshot_list.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

using log::Location;
using log::SnapshotList;

Location at(std::uint32_t unit) { return {.slot = 1, .offset_unit = unit, .value_size = 5}; }
ByteView key(std::string_view text) { return as_byte_view(text); }

TEST(SnapshotListTest, EachSeesTheFirstPlaceThatWasKeptSinceItWasTaken) {
  SnapshotList list;
  list.note(key("a"), at(1));  // Nobody is there to see it.
  EXPECT_TRUE(list.empty());
  const auto old = list.hold(1);
  EXPECT_EQ(list.find(old, key("a")), std::nullopt);
  list.note(key("a"), at(1));
  list.note(key("a"), at(2));  // The first one counts.
  const auto young = list.hold(5);
  EXPECT_EQ(list.find(young, key("a")), std::nullopt) << "it has not changed since";
  list.note(key("a"), at(3));
  list.note(key("b"), std::nullopt);
  EXPECT_EQ(list.find(old, key("a")), std::optional(at(1)));
  EXPECT_EQ(list.find(young, key("a")), std::optional(at(3)));
  ASSERT_TRUE(list.find(old, key("b")));
  EXPECT_EQ(*list.find(old, key("b")), std::nullopt) << "it was not there";
  EXPECT_EQ(list.all().front().sequence, 1u);
}

TEST(SnapshotListTest, WhatAYoungerOneKeptOutlivesItForTheOlder) {
  SnapshotList list;
  const auto old = list.hold(1);
  list.note(key("a"), at(1));
  const auto middle = list.hold(2);
  list.note(key("a"), at(2));
  list.note(key("b"), at(7));
  const auto young = list.hold(3);
  list.note(key("b"), at(8));
  list.note(key("c"), at(9));
  list.release(middle);
  EXPECT_EQ(list.find(old, key("a")), std::optional(at(1)));
  EXPECT_EQ(list.find(old, key("b")), std::optional(at(7)));
  list.release(young);
  EXPECT_EQ(list.find(old, key("c")), std::optional(at(9)));
  const auto changed = list.changed_since(old, "b", "c");
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed.at("b"), at(7));
  EXPECT_EQ(list.changed_since(old, "", std::nullopt).size(), 3u);
  list.release(old);
  EXPECT_TRUE(list.empty());
}

// What is gone from the index between the last key of one look at it and the first of the next.
TEST(LogSnapshot, APageHasWhatWasErasedSinceBetweenTwoLooks) {
  sim::SimDisk disk;
  const auto backend = log::open_log(disk, "log", small_log_options()).value();
  for (const char* name : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(backend->write(one(name, name)));
  const auto held = backend->snapshot().value();
  WriteBatch batch;
  for (const char* erased : {"b", "c", "d"}) batch.erase(as_byte_view(erased));
  ASSERT_TRUE(backend->write(batch));
  // What the snapshot does not have fills the looks, so that a page needs several.
  for (int i = 0; i < 4; ++i) {
    for (std::size_t count_max = 1; count_max < 6; ++count_max) {
      std::string names;
      for (std::optional<Bytes> from = Bytes(); from;) {
        const auto page = held->range({.from = *from, .count_max = count_max}).value();
        for (const RangeEntry& entry : page.entries) names += entry.key.text();
        from = page.next;
      }
      EXPECT_EQ(names, "abcde") << i << " more keys, in pages of " << count_max;
    }
    ASSERT_TRUE(backend->write(one("a" + std::to_string(i), "")));
  }
}

class LogReclaim : public testing::Test {
 protected:
  static constexpr int kKeyCount = 100;

  void SetUp() override {
    disk_.set_recording(false);
    backend_ = log::open_log(disk_, "log", small_log_options()).value();
    for (int i = 0; i < kKeyCount; ++i) put(i, 0);
  }
  void put(int i, int round) { ASSERT_TRUE(backend_->write(one(name(i), text(i, round)))); }
  static std::string name(int i) { return fmt::format("key{:03}", i % kKeyCount); }
  static std::string text(int i, int round) { return text_of(4000, i * 1000 + round + 1); }
  void overwrite(int round) {
    for (int i = 0; i < kKeyCount / 10; ++i) put((round * 37 + i * 11) % kKeyCount, round);
  }
  std::uint64_t stored_size() const { return backend_->stats().stored_size; }
  // What is there besides what lives: 30 % and what is never reclaimed.
  std::uint64_t size_limit() const { return backend_->stats().live_size * 3 / 2 + (64 << 10); }
  void expect_first_round(const ReadView& view) const {
    for (int i = 0; i < kKeyCount; ++i) ASSERT_EQ(value_at(view, name(i)), text(i, 0)) << name(i);
  }

  sim::SimDisk disk_;
  std::unique_ptr<Backend> backend_;
};

TEST_F(LogReclaim, OverwritingKeepsTheFilesNearTheSizeOfWhatLives) {
  for (int round = 1; round <= 20; ++round) {
    overwrite(round);
    EXPECT_LE(stored_size(), size_limit()) << "round " << round;
  }
  EXPECT_TRUE(backend_->verify().value().empty());
}

TEST_F(LogReclaim, WithoutHolesToo) {
  disk_.set_holes(false);
  for (int round = 1; round <= 20; ++round) {
    overwrite(round);
    EXPECT_LE(stored_size(), size_limit()) << "round " << round;
  }
  EXPECT_TRUE(backend_->verify().value().empty());
}

TEST_F(LogReclaim, ErasingEverythingLeavesNextToNothing) {
  for (int i = 0; i < kKeyCount; ++i) {
    WriteBatch batch;
    batch.erase(as_byte_view(name(i)));
    ASSERT_TRUE(backend_->write(batch));
  }
  EXPECT_EQ(backend_->stats().live_size, 0u);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(backend_->write(one("a", std::to_string(i))));
  EXPECT_LE(stored_size(), 96u << 10);
}

TEST_F(LogReclaim, ASnapshotKeepsWhatItSeesAndNoLonger) {
  auto held = backend_->snapshot().value();
  for (int round = 1; round <= 20; ++round) overwrite(round);
  expect_first_round(*held);
  const std::uint64_t held_size = stored_size();
  held.reset();
  for (int round = 21; round <= 24; ++round) overwrite(round);
  EXPECT_LT(stored_size(), held_size);
  EXPECT_LE(stored_size(), size_limit());
}

TEST_F(LogReclaim, AReaderKeepsWhatItSeesAndNoLonger) {
  auto reader = log::open_log_to_read(disk_, "log", small_log_options()).value();
  for (int round = 1; round <= 20; ++round) overwrite(round);
  expect_first_round(*reader);
  auto held = reader->snapshot().value();
  ASSERT_TRUE(reader->refresh());
  EXPECT_EQ(reader->sequence(), backend_->sequence());
  expect_first_round(*held);
  const std::uint64_t held_size = stored_size();
  held.reset();
  for (int round = 21; round <= 24; ++round) overwrite(round);
  ASSERT_TRUE(reader->close());
  for (int round = 25; round <= 28; ++round) overwrite(round);
  EXPECT_LT(stored_size(), held_size);
  EXPECT_LE(stored_size(), size_limit());
}

}  // namespace
}  // namespace varve::test
