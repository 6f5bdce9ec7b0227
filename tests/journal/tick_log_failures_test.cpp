// A log of ticks on a disk that fails or is full, without a crash: those are in the sweeps.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/sim/sim_disk.h"
#include "journal/tick_log_subject.h"
#include "journal/tick_log_views.h"

namespace varve::test {
namespace {

using journal::TickLog;
using journal::TickLogOptions;

std::unique_ptr<TickLog> open(Vfs& vfs, const TickLogOptions& options = small_tick_log_options()) {
  return TickLog::open(vfs, kLogDir, options).value();
}

TickLogOptions by_hand() {
  TickLogOptions options = small_tick_log_options();
  options.durability.kind = Durability::Kind::none;
  options.segment_size = 1 << 20;
  return options;
}

Ticks expected(std::uint64_t last) {
  Ticks ticks;
  for (std::uint64_t tick = 1; tick <= last; ++tick) ticks.emplace(tick, noise(600, tick).text());
  return ticks;
}

Status append(TickLog& log, std::uint64_t tick) { return log.append(tick, noise(600, tick)); }

void fail_call(sim::SimDisk& disk, std::uint64_t which, bool from_then_on = false) {
  disk.set_fault(sim::Fault{.op_number = disk.op_count() + which,
                            .from_then_on = from_then_on,
                            .effect = sim::Effect::none});
}

std::size_t failed_sync_count(const sim::SimDisk& disk) {
  const sim::OpLog ops = disk.log();
  return static_cast<std::size_t>(std::count_if(
      ops.begin(), ops.end(), [](const sim::DiskOp& op) { return op.is_sync() && op.failed; }));
}

// The file is left alone from then on: what it may have lost is in a new segment.
TEST(TickLogFailures, AFailedSyncIsSurvivedByANewSegment) {
  sim::SimDisk disk;
  auto log = open(disk);
  for (std::uint64_t tick = 1; tick <= 3; ++tick) ASSERT_TRUE(append(*log, tick));
  const std::uint64_t segment_count = log->sizes().segment_count;
  fail_call(disk, 2);  // The first writes the entry.
  ASSERT_TRUE(append(*log, 4));
  disk.set_fault(std::nullopt);
  EXPECT_EQ(failed_sync_count(disk), 1u);
  EXPECT_EQ(log->sizes().segment_count, segment_count + 1);
  EXPECT_EQ(log->durable_tick(), 4u);
  ASSERT_TRUE(append(*log, 5));
  EXPECT_EQ(ticks_in(*log), expected(5));
  log.reset();
  log = open(disk);
  EXPECT_TRUE(log->report().problems.empty());
  EXPECT_EQ(ticks_in(*log), expected(5));
}

TEST(TickLogFailures, AFailedSyncOfAGroupWritesAllOfItAgain) {
  sim::SimDisk disk;
  auto log = open(disk, by_hand());
  ASSERT_TRUE(append(*log, 1));
  for (std::uint64_t tick = 2; tick <= 6; ++tick) ASSERT_TRUE(append(*log, tick));
  EXPECT_EQ(log->durable_tick(), 1u);  // Which was there when the segment was made.
  fail_call(disk, 2);                  // The first pads.
  ASSERT_TRUE(log->sync());
  disk.set_fault(std::nullopt);
  EXPECT_EQ(failed_sync_count(disk), 1u);
  EXPECT_EQ(log->durable_tick(), 6u);
  ASSERT_TRUE(append(*log, 7));
  EXPECT_EQ(ticks_in(*log), expected(7));
  // The old segment still has them; they are not shown twice.
  ASSERT_TRUE(log->close());
  log = open(disk, by_hand());
  EXPECT_EQ(log->sizes().segment_count, 2u);
  EXPECT_EQ(ticks_in(*log), expected(7));
}

TEST(TickLogFailures, ASyncThatFailsTwiceLatchesTheLog) {
  sim::SimDisk disk;
  auto log = open(disk, by_hand());
  for (std::uint64_t tick = 1; tick <= 3; ++tick) ASSERT_TRUE(append(*log, tick));
  fail_call(disk, 2, true);
  EXPECT_EQ(log->sync().error().code(), ErrorCode::io);
  disk.set_fault(std::nullopt);
  EXPECT_EQ(log->durable_tick(), 1u);
  const Status refused = append(*log, 4);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("open it again"), std::string::npos);
  EXPECT_FALSE(log->sync());
  EXPECT_EQ(ticks_in(*log), expected(3));
  EXPECT_FALSE(log->close());
  log = open(disk, by_hand());
  EXPECT_EQ(ticks_in(*log), expected(3));
  EXPECT_EQ(log->durable_tick(), 3u);
  EXPECT_TRUE(append(*log, 4));
}

TEST(TickLogFailures, AFullDiskFailsATickAndTheNextSucceedsWhenThereIsRoom) {
  for (std::uint64_t room = 0; room < 1400; room += 100) {
    sim::SimDisk disk;
    TickLogOptions options = small_tick_log_options();
    options.prepared_size = 1;  // So that every tick needs room.
    auto log = open(disk, options);
    for (std::uint64_t tick = 1; tick <= 3; ++tick) ASSERT_TRUE(append(*log, tick));
    disk.set_capacity(disk.image().used_size_without(std::nullopt) + room);
    const Status full = append(*log, 4);
    const std::uint64_t last = full ? 4 : 3;
    if (!full) {
      EXPECT_EQ(full.error().code(), ErrorCode::out_of_space);
    }
    EXPECT_EQ(log->latest_tick(), last);
    EXPECT_EQ(ticks_in(*log), expected(last));
    disk.set_capacity(1 << 30);
    for (std::uint64_t tick = last + 1; tick <= 8; ++tick) ASSERT_TRUE(append(*log, tick)) << room;
    EXPECT_EQ(ticks_in(*log), expected(8));
    ASSERT_TRUE(log->close());
    log = open(disk, options);
    EXPECT_TRUE(log->report().problems.empty());
    EXPECT_EQ(ticks_in(*log), expected(8));
  }
}

// What a failed write left behind the end is nobody's, though it may look whole.
TEST(TickLogFailures, ATickThatFailedDoesNotComeBackAfterAClose) {
  for (const bool goes_on : {false, true}) {
    sim::SimDisk disk;
    auto log = open(disk);
    for (std::uint64_t tick = 1; tick <= 3; ++tick) ASSERT_TRUE(append(*log, tick));
    disk.set_fault(sim::Fault{.op_number = disk.op_count() + 1, .effect = sim::Effect::all});
    EXPECT_FALSE(append(*log, 4));
    disk.set_fault(std::nullopt);
    Ticks all = expected(3);
    if (goes_on) {
      ASSERT_TRUE(append(*log, 5));
      all.emplace(5, noise(600, 5).text());
    }
    ASSERT_TRUE(log->close());
    log = open(disk);
    EXPECT_EQ(ticks_in(*log), all);
    EXPECT_TRUE(log->report().problems.empty());
    ASSERT_TRUE(append(*log, 6));
    log.reset();
    log = open(disk);
    all.emplace(6, noise(600, 6).text());
    EXPECT_EQ(ticks_in(*log), all);
  }
}

TEST(TickLogFailures, ATruncationThatFailsRemovesNothing) {
  sim::SimDisk disk;
  auto log = open(disk);
  for (std::uint64_t tick = 1; tick <= 30; ++tick) ASSERT_TRUE(append(*log, tick));
  fail_call(disk, 1);
  EXPECT_FALSE(log->truncate_before(30));
  disk.set_fault(std::nullopt);
  EXPECT_EQ(ticks_in(*log), expected(30));
  EXPECT_TRUE(log->truncate_before(30));
  EXPECT_EQ(ticks_in(*log, 30), (Ticks{{30, expected(30).at(30)}}));
}

}  // namespace
}  // namespace varve::test
