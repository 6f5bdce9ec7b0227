// What a log must find again after lives that no single crash of a young one leads to.
#include <gtest/gtest.h>

#include "backend/log/log_events.h"
#include "backend/log/log_workloads.h"
#include "backend/log/segment_files.h"
#include "backend/log/small_log.h"
#include "crash/subject.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

// A log on a disk, and what it should hold.
class LogOnDisk {
 public:
  explicit LogOnDisk(log::LogOptions options = small_log_options()) : options(std::move(options)) {}

  void open() {
    auto opened = log::open_log(disk, "log", options);
    ASSERT_TRUE(opened) << opened.error().message();
    log = *std::move(opened);
    for (const Error& problem : log->open_report().problems) ADD_FAILURE() << problem.message();
    expect_whole();
  }
  // As if the process had been killed.
  void drop() { log.reset(); }
  void reopen() {
    drop();
    open();
  }
  WriteOutcome put(const std::string& key, std::size_t size) {
    return apply(test::put(key, size, ++seed_));
  }
  WriteOutcome apply(const crash::Step& step) {
    WriteBatch batch;
    for (const auto& [key, value] : step.changes) {
      batch.add({Bytes::copy_of(as_byte_view(key)), value});
    }
    const WriteResult written = log->write(batch);
    if (written) expected = crash::after(std::move(expected), step);
    return written.outcome();
  }
  void expect_whole() const {
    EXPECT_EQ(log->stats().entry_count, expected.size());
    for (const auto& [key, value] : expected) {
      const auto found = log->get(as_byte_view(key));
      ASSERT_TRUE(found) << key << ": " << found.error().message();
      ASSERT_TRUE(*found) << key << " is missing";
      EXPECT_TRUE(**found == value) << key << " has other bytes";
    }
  }

  sim::SimDisk disk;
  log::LogOptions options;
  std::unique_ptr<Backend> log;
  crash::Records expected;

 private:
  std::uint64_t seed_ = 0;
};

log::LogOptions without_upkeep() {
  log::LogOptions options = small_log_options();
  options.checkpoint_batch_count_min = 1000;
  options.checkpoint_size_min = options.reclaim_size_min = std::uint64_t{1} << 30;
  return options;
}

// Opening waits for every sync: one is what it takes to write a batch once more.
TEST(LogRecovery, ABatchThatWasInFlightIsWrittenAgainWithOneSync) {
  LogOnDisk world(without_upkeep());
  world.options.user.durability.kind = Durability::Kind::none;
  world.open();
  world.put("a", 3000);
  ASSERT_TRUE(world.log->sync());
  world.put("b", 3000);
  world.drop();
  const std::size_t before = world.disk.log().size();
  const std::uint64_t next_segment_id =
      log::SegmentFiles(world.disk, "log", 1).list()->back().id + 1;
  world.open();
  EXPECT_EQ(world.log->open_report().problems.size(), 0u);
  std::size_t sync_count = 0;
  std::size_t other_count = 0;
  const sim::OpLog ops = world.disk.log();
  for (std::size_t i = before; i < ops.size(); ++i) {
    sync_count += ops[i].is_sync() ? 1 : 0;
    other_count += ops[i].kind != sim::OpKind::read && ops[i].kind != sim::OpKind::write &&
                           ops[i].kind != sim::OpKind::set_size && !ops[i].is_sync()
                       ? 1
                       : 0;
  }
  EXPECT_EQ(sync_count, 1u);
  EXPECT_EQ(other_count, 0u) << "nothing is created, renamed or removed";
  EXPECT_EQ(log::SegmentFiles(world.disk, "log", 1).list()->back().id + 1, next_segment_id);
  world.put("c", 3000);
  world.reopen();
}

// What was written over itself and did not get there is still to be written.
TEST(LogRecovery, ABatchThatWasInFlightMayFailToBeWrittenAgain) {
  LogOnDisk world(without_upkeep());
  world.options.user.durability.kind = Durability::Kind::none;
  world.open();
  world.put("a", 3000);
  ASSERT_TRUE(world.log->sync());
  world.put("b", 3000);
  world.drop();
  // The batch that is written again does not get to the disk.
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 100u);
    sim::SimDisk disk(world.disk.image());
    disk.set_fault(sim::Fault{.op_number = n, .from_then_on = true, .effect = sim::Effect::all});
    const bool is_open = log::open_log(disk, "log", world.options).has_value();
    disk.set_fault(std::nullopt);
    const auto again = log::open_log(disk, "log", world.options);
    ASSERT_TRUE(again) << again.error().message();
    for (const auto& [key, value] : world.expected) {
      EXPECT_EQ((*again)->get(as_byte_view(key)).value(), value) << key << ", fault " << n;
    }
    if (is_open) break;
  }
}

// Whether it is whole counts only as long as nobody knows that it is durable: its dead values are
// given back like any others.
TEST(LogRecovery, GoesOnBehindABatchThatWasWrittenAgainAndHasHolesNow) {
  LogOnDisk world(without_upkeep());
  world.options.user.durability.kind = Durability::Kind::none;
  world.open();
  world.apply({.changes = {{"a", noise(9000, 1)}, {"b", noise(9000, 2)}}});
  world.options = without_upkeep();
  world.reopen();
  ASSERT_EQ(count_events(world.disk.log()).again_count, 1u);
  world.put("a", 9000);
  world.put("c", 9000);
  world.drop();
  // As reclaiming would: the first copies of both, and the second one of what was overwritten.
  const auto segments = log::SegmentFiles(world.disk, "log", 1).list().value();
  const auto punch = [&](std::uint64_t id, std::uint64_t size) {
    const auto file = world.disk.open("log/" + log::segment_name(id), OpenMode::write).value();
    ASSERT_TRUE(file->punch_hole(2 * log::kBlockSize, size));
  };
  punch(segments[0].id, 3 * log::kBlockSize);
  punch(segments[1].id, log::kBlockSize);
  world.open();
  world.drop();
  ASSERT_TRUE(world.disk.remove("log/checkpoint"));
  world.open();
}

// The thread prepares segments while batches that need one more make their own.
TEST(LogRecovery, SegmentsOfTwoThreadsStayInOrder) {
  for (int round = 0; round < 10; ++round) {
    LogOnDisk world;
    world.options.background = true;
    world.options.user.durability.kind = Durability::Kind::none;
    world.open();
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(world.put("chunk" + std::to_string(i % 7), 9000), WriteOutcome::done);
    }
    world.reopen();
  }
}

}  // namespace
}  // namespace varve::test
