// What upkeep does while the log goes on, with the moments chosen at which the two meet.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "backend/log/log_format.h"
#include "backend/log/log_views.h"
#include "backend/log/sample_log.h"
#include "backend/log/small_log.h"
#include "backend/log/snapshot_list.h"
#include "io/sim/sim_disk.h"
#include "support/counting_vfs.h"

namespace varve::test {
namespace {

// Upkeep on its thread, and nobody helps it: a hook of the disk may write.
log::LogOptions upkept_options() {
  log::LogOptions options = small_log_options();
  options.background = true;
  return options;
}

TEST(LogUpkeep, SegmentsThatCameWhileACheckpointWasWrittenAreReadAfterIt) {
  sim::SimDisk disk;
  CountingVfs hooked(disk);
  log::LogOptions options = upkept_options();
  options.reclaim_size_min = 1 << 30;
  options.checkpoint_batch_count_min = 20;
  auto backend = log::open_log(hooked, "log", options).value();
  ASSERT_TRUE(backend->write(one("early0", text_of(1000))));
  const Bytes old_control = read_file(disk, "log/control");
  std::atomic<int> done_count = 0;
  std::uint64_t late_sequence = 0;
  hooked.before_each([&](std::string_view path) {
    if (path.find("checkpoint") == std::string_view::npos || done_count++ != 0) return;
    // Enough for several segments.
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(backend->write(one("late" + std::to_string(i), text_of(5000))));
    }
    late_sequence = backend->sequence();
  });
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(backend->write(one("early" + std::to_string(i), text_of(1000))));
  }
  // A checkpoint calls for its path several times; then it is there.
  ASSERT_TRUE(wait_until([&] { return done_count > 2; }));
  hooked.before_each({});
  backend.reset();
  {
    // After the end of the power the control file may be as old as it likes, and the checkpoint
    // may hold parts of what came later.
    sim::SimDisk crashed(disk.image());
    write_file(crashed, "log/control", old_control);
    const auto reader = log::open_log_to_read(crashed, "log", small_log_options()).value();
    EXPECT_GE(reader->sequence(), late_sequence);
    EXPECT_EQ(value_at(*reader, "late9"), text_of(5000));
  }
  backend = log::open_log(disk, "log", small_log_options()).value();
  EXPECT_TRUE(backend->open_report().problems.empty());
  EXPECT_EQ(backend->stats().entry_count, 35u);
  EXPECT_EQ(value_at(*backend, "late9"), text_of(5000));
}

#ifdef __linux__
// The first batch starts the thread, and may come from one that has a game to run.
TEST(LogUpkeep, RunsBehindWhoeverOpenedTheLog) {
  constexpr int kUnknown = 100;
  sim::SimDisk disk;
  CountingVfs hooked(disk);
  std::atomic<int> level = kUnknown;
  hooked.before_each([&, here = std::this_thread::get_id()](std::string_view) {
    if (std::this_thread::get_id() != here) level = getpriority(PRIO_PROCESS, 0);
  });
  const auto backend = log::open_log(hooked, "log", upkept_options()).value();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(backend->write(one("key" + std::to_string(i), text_of(1000))));
  }
  ASSERT_TRUE(wait_until([&] { return level != kUnknown; }));
  EXPECT_EQ(level, std::min(19, getpriority(PRIO_PROCESS, 0) + 10));
  hooked.before_each({});
}
#endif

TEST(LogUpkeep, WhatIsPublishedWhileAReaderOpensIsFound) {
  for (const std::string at : {"log/readers", "log/checkpoint", "log/control", "log"}) {
    SCOPED_TRACE(at);
    sim::SimDisk disk;
    const auto backend = log::open_log(disk, "log", small_log_options()).value();
    ASSERT_TRUE(backend->write(one("a", "before")));
    CountingVfs hooked(disk);
    int met_count = 0;
    hooked.before_each([&](std::string_view path) {
      if (path != at || met_count++ != 0) return;
      // Enough for another segment.
      for (int i = 0; i < 4; ++i) EXPECT_TRUE(backend->write(one("a", text_of(9000, i))));
    });
    const auto reader = log::open_log_to_read(hooked, "log", small_log_options()).value();
    EXPECT_GT(met_count, 0);
    EXPECT_TRUE(reader->open_report().problems.empty());
    const std::string found = value_at(*reader, "a");
    // What came when the control file had been read counts as far as the log says it is durable.
    EXPECT_EQ(found, text_of(9000, at == "log" ? 2 : 3)) << found.size();
  }
}

// The writer does not wait for upkeep where it needs a segment at once, and both make one.
TEST(LogUpkeep, SegmentsMadeByTwoThreadsAreReadInTheOrderOfTheirUse) {
  for (int round = 0; round < 20; ++round) {
    sim::SimDisk disk;
    disk.set_recording(false);
    auto backend = log::open_log(disk, "log", upkept_options()).value();
    for (int i = 0; i < 150; ++i) {
      ASSERT_TRUE(backend->write(one(std::to_string(i), text_of(9000, i))));
    }
    backend.reset();
    backend = log::open_log(disk, "log", small_log_options()).value();
    for (const Error& problem : backend->open_report().problems) {
      ADD_FAILURE() << problem.message();
    }
    ASSERT_EQ(backend->stats().entry_count, 150u);
    ASSERT_TRUE(backend->verify().value().empty());
  }
}

// A reader opens and a value it sees is overwritten, just after upkeep asked who holds what.
TEST(LogUpkeep, WhatDiesAfterThePinsWereReadIsKeptForWhoCameInBetween) {
  for (int look = 1; look <= 12; ++look) {
    SCOPED_TRACE(look);
    sim::SimDisk disk;
    disk.set_recording(false);
    CountingVfs hooked(disk);
    const auto backend = log::open_log(hooked, "log", upkept_options()).value();
    ASSERT_TRUE(backend->write(one("first", "1")));
    // It holds nothing of what comes, but its slot is looked at.
    const auto early = log::open_log_to_read(disk, "log", small_log_options()).value();
    std::unique_ptr<Backend> late;
    std::unique_ptr<ReadView> held;
    std::atomic<int> look_count = 0;
    const auto key_of = [](int i) { return "bulk" + std::to_string(i); };
    hooked.before_each([&](std::string_view path) {
      if (path != "log/readers" || ++look_count != look) return;
      late = log::open_log_to_read(disk, "log", small_log_options()).value();
      held = backend->snapshot().value();
      for (int key = 0; key < 8; ++key) {
        EXPECT_TRUE(backend->write(one(key_of(key), "overwritten")));
      }
    });
    // Whatever upkeep was about to do is done when it has looked a few times more.
    int i = 0;
    ASSERT_TRUE(wait_until([&] {
      const std::string key = look_count < look ? key_of(++i % 12) : "more";
      const WriteResult written = backend->write(one(key, text_of(9000, i % 12)));
      EXPECT_TRUE(written) << written.error().message();
      return look_count >= look + 4 || !written;
    }));
    hooked.before_each({});
    ASSERT_NE(late, nullptr) << "upkeep looks at the pins all the time";
    for (const ReadView* view :
         {static_cast<const ReadView*>(late.get()), static_cast<const ReadView*>(held.get())}) {
      for (i = 0; i < 12; ++i) {
        const std::string found = value_at(*view, key_of(i));
        EXPECT_TRUE(found == text_of(9000, i) || found == "(none)") << found.substr(0, 200);
      }
    }
    held.reset();
    EXPECT_TRUE(backend->verify().value().empty());
  }
}

TEST(LogUpkeep, ABatchDoesNotWaitForTheSegmentBeforeItToBeCut) {
  sim::SimDisk disk;
  const auto backend = log::open_log(disk, "log", small_log_options()).value();
  ASSERT_TRUE(backend->write(one("a", text_of(5000))));
  const std::size_t before = disk.log().size();
  ASSERT_TRUE(backend->write(one("b", text_of(5000))));
  const sim::OpLog ops = disk.log();
  const auto first = [&](auto is_it) {
    return std::find_if(ops.begin() + static_cast<std::ptrdiff_t>(before), ops.end(), is_it);
  };
  const auto synced = first([](const sim::DiskOp& op) { return op.is_sync(); });
  const auto cut = first([](const sim::DiskOp& op) {
    return op.kind == sim::OpKind::set_size && op.size == 3 * log::kBlockSize;
  });
  ASSERT_NE(cut, ops.end()) << "the zeros behind the first batch stay";
  EXPECT_LT(synced, cut);
}

}  // namespace
}  // namespace varve::test
