// What a log of ticks promises to whoever uses it.
#include "journal/tick_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

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

Bytes text(std::string_view words) { return Bytes::copy_of(words); }

// Ticks 1, 3, 5 ... of about a KB, in a few segments.
Ticks fill(TickLog& log, std::uint64_t first, std::size_t count) {
  Ticks ticks;
  for (std::uint64_t tick = first; ticks.size() < count; tick += 2) {
    const Bytes payload = noise(900 + tick % 100, tick);
    EXPECT_TRUE(log.append(tick, payload));
    ticks.emplace(tick, payload.text());
  }
  return ticks;
}

TEST(TickLog, IsEmptyAtFirst) {
  sim::SimDisk disk;
  const auto log = open(disk);
  EXPECT_EQ(log->first_tick(), std::nullopt);
  EXPECT_EQ(log->latest_tick(), std::nullopt);
  EXPECT_EQ(log->durable_tick(), std::nullopt);
  EXPECT_TRUE(ticks_in(*log).empty());
  EXPECT_TRUE(log->close());
}

TEST(TickLog, ShowsWhatWasAppendedAtOnceAndAfterOpeningAgain) {
  sim::SimDisk disk;
  const std::string zeros(5000, '\0');
  const Ticks ticks = {{0, ""}, {1, "a"}, {7, zeros}, {8, std::string(noise(800, 1).text())}};
  auto log = open(disk);
  for (const auto& [tick, payload] : ticks) EXPECT_TRUE(log->append(tick, text(payload)));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(ticks_in(*log), ticks);
    EXPECT_EQ(log->first_tick(), 0u);
    EXPECT_EQ(log->latest_tick(), 8u);
    EXPECT_EQ(log->durable_tick(), 8u);
    EXPECT_TRUE(log->report().problems.empty());
    EXPECT_EQ(log->report().cut_after, std::nullopt);
    if (round != 1) {  // Once it is not closed.
      EXPECT_TRUE(log->close());
    }
    log.reset();
    log = open(disk);
  }
}

TEST(TickLog, TakesRisingTicksAlone) {
  sim::SimDisk disk;
  auto log = open(disk);
  ASSERT_TRUE(log->append(5, text("five")));
  for (const std::uint64_t tick : {5, 4, 0}) {
    EXPECT_EQ(log->append(tick, text("no")).error().code(), ErrorCode::invalid_argument);
  }
  ASSERT_TRUE(log->append(6, text("six")));
  ASSERT_TRUE(log->close());
  log = open(disk);
  EXPECT_EQ(log->append(6, text("no")).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(ticks_in(*log), (Ticks{{5, "five"}, {6, "six"}}));
}

TEST(TickLog, ReadsAnyRange) {
  sim::SimDisk disk;
  TickLogOptions options = small_tick_log_options();
  options.segment_size = 300 << 10;  // More than one point of the index in each.
  auto log = open(disk, options);
  const Ticks all = fill(*log, 1, 500);
  ASSERT_GE(log->sizes().segment_count, 2u);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t from = 0; from < 1010; from += 83) {
      for (const std::uint64_t size : {0, 1, 2, 40, 700}) {
        const Ticks expected(all.lower_bound(from), all.lower_bound(from + size));
        EXPECT_EQ(ticks_in(*log, from, from + size), expected) << from << "+" << size;
      }
    }
    ASSERT_TRUE(log->close());
    log = open(disk, options);
  }
}

TEST(TickLog, ReadsSingleTicks) {
  sim::SimDisk disk;
  TickLogOptions options = small_tick_log_options();
  options.segment_size = 300 << 10;
  auto log = open(disk, options);
  const Ticks all = fill(*log, 1, 500);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t step = 1; step < 400; step += 37) {
      std::vector<std::uint64_t> wanted;
      Ticks expected;
      // Some of them are not there, as those behind the end.
      for (std::uint64_t tick = step % 5; tick < 1010; tick += step) {
        wanted.push_back(tick);
        if (all.contains(tick)) expected.insert(*all.find(tick));
      }
      Ticks found;
      ASSERT_TRUE(
          log->read_ticks(wanted, [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
            found.emplace(tick, payload.text());
            return true;
          }));
      EXPECT_EQ(found, expected) << step;
    }
    ASSERT_TRUE(log->close());
    log = open(disk, options);
  }
  int count = 0;
  const std::vector<std::uint64_t> three = {1, 3, 5};
  EXPECT_TRUE(log->read_ticks(
      three, [&](std::uint64_t, const Bytes&) -> Result<bool> { return ++count < 2; }));
  EXPECT_EQ(count, 2);
  ASSERT_TRUE(log->truncate_before(900));
  EXPECT_EQ(log->read_ticks(three, [](std::uint64_t, const Bytes&) -> Result<bool> { return true; })
                .error()
                .code(),
            ErrorCode::not_found);
}

// Every byte of a segment, one after the other: a tick that is told is itself, one that is not is
// damaged or beside the damage.
TEST(TickLog, SingleTicksAreToldBesideDamageButNeverWrong) {
  sim::SimDisk disk;
  TickLogOptions options = small_tick_log_options();
  options.segment_size = 8192;
  auto log = open(disk, options);
  Ticks all;
  for (std::uint64_t tick = 1; tick <= 40; ++tick) {
    const Bytes payload = noise(300, tick);
    ASSERT_TRUE(log->append(tick, payload));
    all.emplace(tick, payload.text());
  }
  std::string first;
  const std::vector<DirEntry> entries = disk.list(kLogDir).value();
  for (const DirEntry& entry : entries) {
    const std::string path = std::string(kLogDir) + "/" + entry.name;
    if (entry.name.ends_with(".wal") && (first.empty() || path < first)) first = path;
  }
  auto file = disk.open(first, OpenMode::write).value();
  const std::uint64_t size = file->size().value();
  std::size_t damaged_count = 0;
  for (std::uint64_t offset = 66; offset < size; offset += 7) {
    std::byte byte;
    ASSERT_TRUE(file->read_exactly(offset, {&byte, 1}));
    const std::byte flipped = byte ^ std::byte{0x41};
    ASSERT_TRUE(file->write_at(offset, ByteView(&flipped, 1)));
    std::size_t told_count = 0;
    for (const auto& [tick, payload] : all) {
      const Status read = log->read_ticks(
          std::span(&tick, 1), [&](std::uint64_t at, const Bytes& found) -> Result<bool> {
            EXPECT_EQ(at, tick);
            EXPECT_EQ(found.text(), payload);
            ++told_count;
            return true;
          });
      if (read) continue;
      // Never left out without a word.
      EXPECT_EQ(read.error().code(), ErrorCode::corruption);
      ++damaged_count;
      ++told_count;
    }
    ASSERT_EQ(told_count, all.size()) << offset;
    ASSERT_TRUE(file->write_at(offset, ByteView(&byte, 1)));
  }
  EXPECT_GT(damaged_count, 0u);
}

TEST(TickLog, StopsReadingWhenToldAndPassesErrorsOn) {
  sim::SimDisk disk;
  auto log = open(disk);
  fill(*log, 1, 10);
  int count = 0;
  EXPECT_TRUE(log->read(0, kForEver,
                        [&](std::uint64_t, const Bytes&) -> Result<bool> { return ++count < 4; }));
  EXPECT_EQ(count, 4);
  const Status failed = log->read(
      0, kForEver, [](std::uint64_t, const Bytes&) -> Result<bool> { return cancelled("enough"); });
  EXPECT_EQ(failed.error().code(), ErrorCode::cancelled);
}

TEST(TickLog, DropsWholeSegmentsAloneAndNamesTheOldestTick) {
  sim::SimDisk disk;
  auto log = open(disk);
  const Ticks all = fill(*log, 1, 30);
  const std::uint64_t count = log->sizes().segment_count;
  ASSERT_GE(count, 5u);
  ASSERT_TRUE(log->truncate_before(1));
  EXPECT_EQ(log->sizes().segment_count, count);
  ASSERT_TRUE(log->truncate_before(30));
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t first = log->first_tick().value();
    EXPECT_GT(first, 1u);
    EXPECT_LE(first, 31u);
    EXPECT_LT(log->sizes().segment_count, count);
    EXPECT_EQ(ticks_in(*log, 30), Ticks(all.lower_bound(30), all.end()));
    const Shown gone = show(*log, 1);
    EXPECT_EQ(gone.status.error().code(), ErrorCode::not_found);
    EXPECT_NE(gone.status.error().message().find("history truncated"), std::string::npos);
    EXPECT_NE(gone.status.error().message().find(std::to_string(first)), std::string::npos);
    EXPECT_TRUE(gone.ticks.empty());
    // The tick before the first one that is left changed nothing, and that is known.
    EXPECT_TRUE(show(*log, first - 1).status);
    ASSERT_TRUE(log->close());
    log = open(disk);
  }
  // Never the last.
  ASSERT_TRUE(log->truncate_before(kForEver));
  EXPECT_EQ(log->sizes().segment_count, 1u);
  EXPECT_EQ(log->latest_tick(), 59u);
  EXPECT_EQ(segments_in(disk).size(), 1u);
}

TEST(TickLog, UsesFilesAgainAndTheirOldBytesNeverPass) {
  sim::SimDisk disk;
  auto log = open(disk);
  Ticks all = fill(*log, 1, 30);
  ASSERT_TRUE(log->truncate_before(59));
  const Ticks more = fill(*log, 61, 12);
  const sim::OpLog ops = disk.log();
  EXPECT_GE(count_tick_log_events(ops).recycled_count, 1u);
  // The end of the process: whatever the old bytes behind the last entry are, they are not read.
  log.reset();
  log = open(disk);
  EXPECT_TRUE(log->report().problems.empty());
  EXPECT_EQ(log->report().cut_after, std::nullopt);
  EXPECT_EQ(log->latest_tick(), more.rbegin()->first);
  EXPECT_EQ(ticks_in(*log, 61), more);
}

TEST(TickLog, WritesZerosAheadAndNotASegmentFullOfThem) {
  sim::SimDisk disk;
  TickLogOptions options;  // 64 MiB
  options.background = false;
  options.durability.kind = Durability::Kind::every_commit;
  const auto log = open(disk, options);
  ASSERT_TRUE(log->append(1, noise(1000, 1)));
  EXPECT_LE(log->sizes().stored_size, 200u << 10);
  EXPECT_GE(log->sizes().stored_size, 32u << 10);
  std::uint64_t growth_count = 0;
  std::uint64_t stored_size = log->sizes().stored_size;
  for (std::uint64_t tick = 2; tick < 2000; ++tick) {
    ASSERT_TRUE(log->append(tick, noise(1000, tick)));
    growth_count += log->sizes().stored_size != stored_size ? 1 : 0;
    stored_size = log->sizes().stored_size;
    ASSERT_LT(log->sizes().entry_bytes, stored_size) << tick;
  }
  EXPECT_LT(growth_count, 40u);
  ASSERT_TRUE(log->close());
  // They are cut off then.
  const std::uint64_t size = disk.info(segments_in(disk).front()).value().size;
  EXPECT_LT(size, log->sizes().entry_bytes + 512);
}

TEST(TickLog, SyncsAsItIsTold) {
  const auto sync_count = [](const TickLogOptions& options) {
    sim::SimDisk disk;
    const auto log = open(disk, options);
    EXPECT_TRUE(log->append(1, text("the first makes a segment")));
    const auto count_syncs = [&] {
      const sim::OpLog ops = disk.log();
      return std::count_if(ops.begin(), ops.end(), [](const auto& op) { return op.is_sync(); });
    };
    const auto before = count_syncs();
    for (std::uint64_t tick = 2; tick <= 13; ++tick) {
      EXPECT_TRUE(log->append(tick, text("x")));
      if (options.durability.kind == Durability::Kind::every_commit) {
        EXPECT_EQ(log->durable_tick(), tick);
      }
    }
    const auto after = count_syncs();
    EXPECT_TRUE(log->sync());
    EXPECT_EQ(log->durable_tick(), 13u);
    return after - before;
  };
  TickLogOptions options = small_tick_log_options();
  options.segment_size = 1 << 20;
  EXPECT_EQ(sync_count(options), 12);
  options.durability = {.kind = Durability::Kind::every_n, .count = 4};
  EXPECT_EQ(sync_count(options), 3);
  options.durability = {.kind = Durability::Kind::none};
  EXPECT_EQ(sync_count(options), 0);
  options.durability = {.kind = Durability::Kind::every_ms, .interval_ms = 1'000'000};
  EXPECT_EQ(sync_count(options), 0);
  options.durability = {.kind = Durability::Kind::every_ms, .interval_ms = 0};
  EXPECT_EQ(sync_count(options), 12);
  // Whatever the durability, memory has a limit.
  options.durability = {.kind = Durability::Kind::none};
  options.unsynced_size_max = 40;
  EXPECT_GE(sync_count(options), 2);
}

TEST(TickLog, IsWrittenByOne) {
  sim::SimDisk disk;
  auto log = open(disk);
  const auto second = TickLog::open(disk, kLogDir, small_tick_log_options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
  ASSERT_TRUE(log->close());
  EXPECT_TRUE(TickLog::open(disk, kLogDir, small_tick_log_options()));
}

TEST(TickLog, IsReadBesideItsWriter) {
  sim::SimDisk disk;
  EXPECT_EQ(TickLog::open_to_read(disk, kLogDir).error().code(), ErrorCode::not_found);
  auto log = open(disk);
  EXPECT_TRUE(ticks_in(*TickLog::open_to_read(disk, kLogDir).value()).empty());
  const Ticks all = fill(*log, 1, 20);
  const auto reader = TickLog::open_to_read(disk, kLogDir).value();
  EXPECT_EQ(ticks_in(*reader), all);
  EXPECT_EQ(reader->latest_tick(), 39u);
  // The last entry may not be durable, for all a reader knows.
  EXPECT_EQ(reader->durable_tick(), 37u);
  EXPECT_EQ(reader->append(100, text("x")).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(reader->truncate_before(30).error().code(), ErrorCode::invalid_argument);
  fill(*log, 41, 10);
  EXPECT_EQ(ticks_in(*reader), all);
  // What is taken away, and its file used again, is gone and not damaged.
  const auto late = TickLog::open_to_read(disk, kLogDir).value();
  ASSERT_TRUE(log->truncate_before(59));
  fill(*log, 61, 10);
  EXPECT_EQ(show(*late, 0).status.error().code(), ErrorCode::not_found);
  EXPECT_TRUE(reader->close());
}

TEST(TickLog, RefusesOptionsThatMakeNoSense) {
  sim::SimDisk disk;
  TickLogOptions options = small_tick_log_options();
  for (const std::uint32_t alignment : {0, 1, 256, 513, 8192}) {
    options.alignment = alignment;
    EXPECT_EQ(TickLog::open(disk, kLogDir, options).error().code(), ErrorCode::invalid_argument);
  }
  options.alignment = 4096;
  options.segment_size = 4096;
  EXPECT_EQ(TickLog::open(disk, kLogDir, options).error().code(), ErrorCode::invalid_argument);
}

TEST(TickLog, TakesATickLargerThanASegmentAndNoneLargerThanTheLimit) {
  sim::SimDisk disk;
  auto log = open(disk);
  const Bytes large = noise(100'000, 1);
  ASSERT_TRUE(log->append(1, text("small")));
  ASSERT_TRUE(log->append(2, large));
  ASSERT_TRUE(log->append(3, text("small")));
  const Buffer too_large(journal::kPayloadSizeMax + 1);
  EXPECT_EQ(log->append(4, too_large.view()).error().code(), ErrorCode::invalid_argument);
  log.reset();
  log = open(disk);
  EXPECT_EQ(ticks_in(*log).at(2), large.text());
  EXPECT_EQ(log->latest_tick(), 3u);
}

TEST(TickLog, ReadsSegmentsOfEveryCompressionAndGoesOnInAnother) {
  sim::SimDisk disk;
  TickLogOptions options = small_tick_log_options();
  Ticks all;
  std::uint64_t tick = 0;
  const std::string words(3000, 'w');
  for (const Compression* codec : all_compressions()) {
    options.compression = codec->id();
    const auto log = open(disk, options);
    for (const std::string& payload : {words, std::string(noise(100, tick).text())}) {
      ASSERT_TRUE(log->append(++tick, text(payload)));
      all.emplace(tick, payload);
    }
    EXPECT_EQ(ticks_in(*log), all) << codec->name();
  }
  EXPECT_EQ(ticks_in(*TickLog::open_to_read(disk, kLogDir).value()), all);
}

// What goes is removed by another thread than the one that appends, which does not wait for it.
TEST(TickLog, HistoryGoesBesideAppends) {
  sim::SimDisk disk;
  TickLogOptions options = small_tick_log_options();
  options.background = true;
  const auto log = TickLog::open(disk, kLogDir, options).value();
  constexpr std::uint64_t kLast = 400;
  std::atomic<std::uint64_t> latest = 0;
  std::thread cutter([&] {
    for (std::uint64_t seen = 0; seen != kLast;) {
      seen = latest;
      const Status cut = log->truncate_before(seen > 10 ? seen - 10 : 0);
      EXPECT_TRUE(cut) << cut.error().message();
    }
  });
  for (std::uint64_t tick = 1; tick <= kLast; ++tick) {
    EXPECT_TRUE(log->append(tick, noise(300, tick)));
    latest = tick;
  }
  cutter.join();
  const std::uint64_t first = log->first_tick().value();
  EXPECT_GT(first, kLast / 2);
  EXPECT_LE(first, kLast - 10);
  Ticks expected;
  for (std::uint64_t tick = first; tick <= kLast; ++tick) {
    expected[tick] = std::string(noise(300, tick).text());
  }
  EXPECT_EQ(ticks_in(*log, first), expected);
  ASSERT_TRUE(log->close());
  const auto again = TickLog::open_to_read(disk, kLogDir).value();
  EXPECT_TRUE(again->report().problems.empty());
  EXPECT_EQ(ticks_in(*again, first), expected);
}

}  // namespace
}  // namespace varve::test
