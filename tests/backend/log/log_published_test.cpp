// How far a reader in another process goes: `control` says what is durable, but after a power cut
// it may be an old one, and then the log itself knows more.
//
// Invariants checked: a reader shows all that was acknowledged and can still be told to be durable,
// and never a batch that is in flight.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backend/log/log_views.h"
#include "backend/log/sample_log.h"
#include "backend/log/small_log.h"
#include "io/sim/sim_disk.h"
#include "support/counting_vfs.h"

namespace varve::test {
namespace {

constexpr char kControl[] = "log/control";

// Nothing but batches is written, so that the log itself has to say how far it goes.
log::LogOptions plain_options(Durability::Kind kind = Durability::Kind::every_commit) {
  log::LogOptions options = small_log_options();
  options.checkpoint_batch_count_min = options.close_batch_count_max = 1000;
  options.checkpoint_size_min = options.reclaim_size_min = std::uint64_t{1} << 30;
  options.user.durability.kind = kind;
  return options;
}

std::unique_ptr<Backend> open_unsynced(Vfs& vfs) {
  return log::open_log(vfs, kSampleDir, plain_options(Durability::Kind::none)).value();
}

std::unique_ptr<Backend> open_reader(Vfs& vfs) {
  auto reader = log::open_log_to_read(vfs, kSampleDir, plain_options()).value();
  for (const Error& problem : reader->open_report().problems) ADD_FAILURE() << problem.message();
  EXPECT_EQ(value_at(*reader, "a").substr(0, 2), std::to_string(10 + reader->sequence()));
  return reader;
}

WriteBatch numbered(std::uint64_t n) { return one("a", std::to_string(10 + n) + text_of(3000, n)); }

// Ten batches in several segments, each of which was acknowledged, and what `control` was after
// each; then the process is killed.
struct Acknowledged {
  static constexpr std::uint64_t kCount = 10;

  Acknowledged() {
    disk.set_recording(false);
    const auto log = log::open_log(disk, kSampleDir, plain_options()).value();
    for (std::uint64_t n = 1; n <= kCount; ++n) {
      EXPECT_TRUE(log->write(numbered(n)));
      controls.push_back(read_file(disk, kControl));
    }
  }
  void set_control_of(std::uint64_t sequence) {
    write_file(disk, kControl, controls.at(sequence - 1));
  }
  // With an old control record, or with none.
  sim::DiskImage after_power_cut(bool has_control) {
    set_control_of(2);
    if (!has_control) {
      EXPECT_TRUE(disk.remove(kControl));
    }
    return disk.image();
  }

  sim::SimDisk disk;
  std::vector<Bytes> controls;
};

TEST(LogPublished, AnOldControlRecordHidesNothingThatTheLogSaysIsDurable) {
  Acknowledged world;
  EXPECT_EQ(open_reader(world.disk)->sequence(), world.kCount);
  for (std::uint64_t n = 1; n < world.kCount; ++n) {
    world.set_control_of(n);
    // Of the last batch nothing says that it is durable: it might be in flight.
    EXPECT_EQ(open_reader(world.disk)->sequence(), world.kCount - 1) << n;
  }
  ASSERT_TRUE(world.disk.remove("log/checkpoint"));
  EXPECT_EQ(open_reader(world.disk)->sequence(), world.kCount - 1) << "read from the segments";
}

TEST(LogPublished, AfterThePowerWasCutAllThatIsWholeIsShown) {
  for (const bool has_checkpoint : {true, false}) {
    for (std::uint64_t n = 1; n <= Acknowledged::kCount; ++n) {
      Acknowledged world;
      world.set_control_of(n);
      if (!has_checkpoint) {
        ASSERT_TRUE(world.disk.remove("log/checkpoint"));
      }
      sim::SimDisk next_boot(world.disk.image());
      const auto reader = open_reader(next_boot);
      EXPECT_EQ(reader->sequence(), world.kCount) << n;
      EXPECT_FALSE(reader->open_report().dropped_tail);
    }
  }
}

TEST(LogPublished, AfterThePowerWasCutABatchThatIsNotWholeIsNotShown) {
  Acknowledged world;
  world.set_control_of(2);
  const auto all = files_of(world.disk);
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](const std::string& path) {
    return is_segment(path) && heads_of(world.disk, path).size() > 1;
  });
  const Part head = heads_of(world.disk, *last).back();
  const auto torn = world.disk.open(*last, OpenMode::write).value();
  ASSERT_TRUE(torn->write_at(head.end + 1000, as_byte_view("torn")));
  sim::SimDisk next_boot(world.disk.image());
  const auto reader = open_reader(next_boot);
  EXPECT_EQ(reader->sequence(), world.kCount - 1);
  EXPECT_TRUE(reader->open_report().dropped_tail);
  EXPECT_EQ(log::open_log(next_boot, kSampleDir, plain_options()).value()->sequence(),
            world.kCount - 1)
      << "as whoever opens it to write";
}

TEST(LogPublished, WithoutAControlRecordAllThatIsWholeIsShown) {
  Acknowledged world;
  ASSERT_TRUE(world.disk.remove(kControl));
  EXPECT_EQ(open_reader(world.disk)->sequence(), world.kCount);
}

TEST(LogPublished, ABatchInFlightIsNotShown) {
  Acknowledged world;
  const auto writer = open_unsynced(world.disk);
  const auto reader = open_reader(world.disk);
  for (std::uint64_t n = 1; n <= 2; ++n) {
    ASSERT_TRUE(writer->write(numbered(world.kCount + n)));
    EXPECT_EQ(open_reader(world.disk)->sequence(), world.kCount);
    ASSERT_TRUE(reader->refresh());
    EXPECT_EQ(reader->sequence(), world.kCount);
  }
  ASSERT_TRUE(writer->sync());
  ASSERT_TRUE(reader->refresh());
  EXPECT_EQ(reader->sequence(), world.kCount + 2);
  // The next one says that those before it are durable, whatever became of `control`.
  ASSERT_TRUE(writer->write(numbered(world.kCount + 3)));
  world.set_control_of(2);
  EXPECT_EQ(open_reader(world.disk)->sequence(), world.kCount + 2);
}

TEST(LogPublished, ABatchInFlightAfterAPowerCutIsNotShown) {
  for (const bool has_control : {true, false}) {
    Acknowledged world;
    sim::SimDisk next_boot(world.after_power_cut(has_control));
    const auto reader = open_reader(next_boot);
    EXPECT_EQ(reader->sequence(), world.kCount);
    const auto writer = open_unsynced(next_boot);
    EXPECT_EQ(open_reader(next_boot)->sequence(), world.kCount);
    ASSERT_TRUE(writer->write(numbered(world.kCount + 1)));
    EXPECT_EQ(open_reader(next_boot)->sequence(), world.kCount);
    ASSERT_TRUE(reader->refresh());
    EXPECT_EQ(reader->sequence(), world.kCount);
    ASSERT_TRUE(writer->sync());
    ASSERT_TRUE(reader->refresh());
    EXPECT_EQ(reader->sequence(), world.kCount + 1);
  }
}

// The reader has read `control`, and does not know the segments yet.
TEST(LogPublished, AWriterThatBeginsWhileTheLogIsReadIsNoticed) {
  for (const bool has_control : {true, false}) {
    Acknowledged world;
    sim::SimDisk next_boot(world.after_power_cut(has_control));
    CountingVfs disk(next_boot);
    std::unique_ptr<Backend> writer;
    disk.before_each([&](std::string_view path) {
      if (writer != nullptr || path != kSampleDir) return;
      writer = open_unsynced(next_boot);
      ASSERT_TRUE(writer->write(numbered(Acknowledged::kCount + 1)));
    });
    EXPECT_EQ(open_reader(disk)->sequence(), world.kCount);
    EXPECT_NE(writer, nullptr);
  }
}

// A batch makes the segment longer than the reader knows it, and others follow in the next one.
TEST(LogPublished, WithoutACheckpointNoBatchIsPassedOverThatComesMeanwhile) {
  sim::SimDisk below;
  const auto writer = log::open_log(below, kSampleDir, plain_options()).value();
  ASSERT_TRUE(writer->write(numbered(1)));
  ASSERT_TRUE(below.remove("log/checkpoint"));
  std::vector<std::string> segments = files_of(below);
  std::erase_if(segments, [](const std::string& path) { return !is_segment(path); });
  ASSERT_EQ(segments.size(), 2u) << "one is ready for the next batches";
  CountingVfs disk(below);
  bool has_met = false;
  disk.before_each([&](std::string_view path) {
    if (path != segments[1] || has_met) return;
    has_met = true;
    ASSERT_TRUE(writer->write(one("large", text_of(20'000))));
    for (std::uint64_t n = 3; n <= 4; ++n) ASSERT_TRUE(writer->write(numbered(n)));
    ASSERT_EQ(heads_of(below, segments[1]).size(), 3u) << "they are in the next one";
  });
  const auto reader = open_reader(disk);
  EXPECT_TRUE(has_met);
  EXPECT_EQ(reader->sequence(), 1u);
  ASSERT_TRUE(reader->refresh());
  EXPECT_EQ(reader->sequence(), 4u);
  EXPECT_EQ(value_at(*reader, "large"), text_of(20'000));
}

// Readers would take what it writes for what the disk has.
TEST(LogPublished, AWriterThatCannotPublishAfterAPowerCutDoesNotOpen) {
  Acknowledged world;
  std::size_t refused_count = 0;
  for (std::uint64_t n = 1;; ++n) {
    sim::SimDisk next_boot(world.disk.image());
    next_boot.set_fault(sim::Fault{.op_number = n, .effect = sim::Effect::none});
    const auto writer = log::open_log(next_boot, kSampleDir, plain_options(Durability::Kind::none));
    const bool was_hit = next_boot.op_count() >= n;
    next_boot.set_fault(std::nullopt);
    refused_count += writer ? 0 : 1;
    if (!writer) continue;
    ASSERT_TRUE((*writer)->write(numbered(world.kCount + 1)));
    EXPECT_EQ(open_reader(next_boot)->sequence(), world.kCount) << "fault " << n;
    if (!was_hit) break;
  }
  EXPECT_GT(refused_count, 5u);
}

}  // namespace
}  // namespace varve::test
