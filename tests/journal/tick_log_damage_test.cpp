// A log of ticks whose files were cut, damaged, lost or made by an enemy.
#include <gtest/gtest.h>

#include "base/endian.h"
#include "io/sim/sim_disk.h"
#include "journal/tick_log_subject.h"
#include "journal/tick_log_views.h"
#include "journal/wal_walk.h"
#include "varve/checksum.h"

namespace varve::test {
namespace {

using journal::TickLog;
using journal::TickLogOptions;

struct Sample {
  sim::DiskImage image;
  Ticks ticks;
};

// Ticks 1 to `count` of 300 to 400 bytes. Not closed, as if the process had ended.
Sample make_sample(std::uint64_t count, const TickLogOptions& options, bool closes = false) {
  Sample sample;
  sim::SimDisk disk;
  const auto log = TickLog::open(disk, kLogDir, options).value();
  for (std::uint64_t tick = 1; tick <= count; ++tick) {
    const Bytes payload = noise(300 + tick, tick);
    EXPECT_TRUE(log->append(tick, payload));
    sample.ticks.emplace(tick, payload.text());
  }
  if (closes) {
    EXPECT_TRUE(log->close());
  }
  sample.image = disk.image();
  return sample;
}

TickLogOptions with_sync_every(std::uint32_t count) {
  TickLogOptions options = small_tick_log_options();
  options.durability = {.kind = Durability::Kind::every_n, .count = count};
  return options;
}

std::vector<journal::WalEntry> entries_of(Vfs& vfs, const std::string& path) {
  const auto file = vfs.open(path, OpenMode::read).value();
  std::byte head[journal::kSegmentHeaderSize];
  EXPECT_TRUE(file->read_exactly(0, head));
  const journal::SegmentHeader header = journal::decode_segment_header(head).value();
  journal::EntryWalk walk(*file, header, file->size().value());
  std::vector<journal::WalEntry> entries;
  for (auto entry = walk.next().value(); entry; entry = walk.next().value()) {
    entries.push_back(*entry);
  }
  return entries;
}

Ticks up_to(const Ticks& ticks, std::uint64_t last) {
  return Ticks(ticks.begin(), ticks.upper_bound(last));
}

// The file ends, or garbage begins, at every byte of the last entry in turn.
TEST(TickLogDamage, ATornTailIsCutAtEveryByte) {
  for (const std::uint32_t sync_every : {1, 5}) {
    const Sample sample = make_sample(8, with_sync_every(sync_every));
    sim::SimDisk whole(sample.image);
    const std::string path = segments_in(whole).back();
    const journal::WalEntry last = entries_of(whole, path).back();
    for (std::uint64_t size = last.offset; size < last.end; ++size) {
      for (const bool is_cut : {true, false}) {
        sim::SimDisk disk(sample.image);
        Buffer contents = contents_of(disk, path).clone();
        if (is_cut) {
          contents.resize(static_cast<std::size_t>(size));
        } else {
          contents.span()[static_cast<std::size_t>(size)] ^= std::byte{0x40};
        }
        replace_contents(disk, path, contents.view());
        auto log = TickLog::open(disk, kLogDir, with_sync_every(sync_every)).value();
        EXPECT_TRUE(log->report().problems.empty()) << log->report().problems.front().message();
        ASSERT_EQ(ticks_in(*log), up_to(sample.ticks, 7)) << size;
        if (is_cut && size > last.offset) {
          EXPECT_EQ(log->report().cut_after, 7u) << size;
        }
        ASSERT_TRUE(log->append(8, Bytes::copy_of("another")));
        ASSERT_TRUE(log->append(9, Bytes::copy_of("more")));
        log.reset();
        log = TickLog::open(disk, kLogDir, with_sync_every(sync_every)).value();
        EXPECT_EQ(log->report().cut_after, std::nullopt);
        ASSERT_EQ(ticks_in(*log, 8), (Ticks{{8, "another"}, {9, "more"}}));
      }
    }
  }
}

// Something behind it was written when it was durable: no crash did that.
TEST(TickLogDamage, ABadEntryWithSomethingBehindItIsCorruption) {
  const Sample sample = make_sample(7, small_tick_log_options());
  sim::SimDisk whole(sample.image);
  const std::string path = segments_in(whole).back();
  const auto entries = entries_of(whole, path);
  ASSERT_GE(entries.size(), 3u);
  const journal::WalEntry bad = entries[entries.size() - 2];
  const std::uint64_t last_good = bad.header.tick - 1;
  for (std::uint64_t offset = bad.offset; offset < bad.end; offset += 7) {
    sim::SimDisk disk(sample.image);
    flip_bit(disk, path, offset);
    const auto reader = TickLog::open_to_read(disk, kLogDir).value();
    ASSERT_EQ(reader->report().problems.size(), 1u) << offset;
    auto log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
    ASSERT_EQ(log->report().problems.size(), 1u);
    const std::string& message = log->report().problems.front().message();
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_NE(message.find("tick " + std::to_string(last_good)), std::string::npos) << message;
    EXPECT_EQ(log->report().cut_after, std::nullopt);
    EXPECT_EQ(log->latest_tick(), last_good);
    EXPECT_EQ(ticks_in(*log), up_to(sample.ticks, last_good));
    // Opened again it is still known, closed or not.
    ASSERT_TRUE(log->close());
    log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
    EXPECT_EQ(log->report().problems.size(), 1u);
    // Gone on with, it is not a problem of today any more, but no history leads across.
    ASSERT_TRUE(log->append(20, Bytes::copy_of("onwards")));
    ASSERT_TRUE(log->append(21, Bytes::copy_of("and on")));
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(ticks_in(*log, 20), (Ticks{{20, "onwards"}, {21, "and on"}}));
      EXPECT_EQ(show(*log, 0).status.error().code(), ErrorCode::corruption);
      EXPECT_EQ(show(*log, last_good + 1).status.error().code(), ErrorCode::corruption);
      EXPECT_EQ(ticks_in(*log, 0, last_good + 1), up_to(sample.ticks, last_good));
      log.reset();
      log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
      EXPECT_TRUE(log->report().problems.empty());
    }
  }
}

// Whoever wrote it wrote nonsense, or memory failed before the checksum was made. Nobody was
// promised these ticks yet, but all were accepted: one that is bad does not cost the others.
TEST(TickLogDamage, AnEntryAtTheUnsyncedEndThatCannotBeDecompressedCostsOneTick) {
  TickLogOptions options = with_sync_every(100);
  sim::SimDisk disk;
  auto log = TickLog::open(disk, kLogDir, options).value();
  Ticks expected;
  for (std::uint64_t tick = 1; tick <= 4; ++tick) {
    expected[tick] = std::string(300, static_cast<char>('a' + tick));
    ASSERT_TRUE(log->append(tick, as_byte_view(expected[tick])));
  }
  log.reset();
  const std::string path = segments_in(disk).back();
  journal::WalEntry bad = entries_of(disk, path)[2];
  ASSERT_EQ(bad.header.tick, 3u);
  ASSERT_FALSE(bad.header.is_stored);
  Buffer contents = contents_of(disk, path).clone();
  const auto entry = contents.span().subspan(static_cast<std::size_t>(bad.offset),
                                             static_cast<std::size_t>(bad.end - bad.offset));
  // An offset of 0 is in no LZ4 block.
  const auto payload = entry.subspan(journal::kEntryHeaderSize);
  std::fill(payload.begin() + 4, payload.end(), std::byte{0});
  bad.header.checksum = journal::entry_checksum(bad.header, payload, 1);
  journal::encode_entry_header(bad.header, entry.data());
  replace_contents(disk, path, contents.view());

  // With another codec too: what is taken over keeps its own.
  for (const CompressionId codec : {CompressionId::zstd, CompressionId::lz4}) {
    options.compression = codec;
    log = TickLog::open(disk, kLogDir, options).value();
    EXPECT_EQ(log->latest_tick(), codec == CompressionId::zstd ? 4u : 5u);
    EXPECT_EQ(ticks_in(*log, 1, 3), (Ticks{{1, expected[1]}, {2, expected[2]}}));
    EXPECT_EQ(show(*log, 3, 4).status.error().code(), ErrorCode::corruption);
    EXPECT_EQ(ticks_in(*log, 4, 5), (Ticks{{4, expected[4]}}));
    if (codec == CompressionId::zstd) {
      const std::string more(500, 'm');
      ASSERT_TRUE(log->append(5, as_byte_view(more)));
      EXPECT_EQ(ticks_in(*log, 5), (Ticks{{5, more}}));
      // A segment that begins by itself has the codec that was asked for.
      ASSERT_TRUE(log->close());
    }
  }
}

TEST(TickLogDamage, ABadEntryOfAnEarlierSegmentIsCorruptionWhenItIsRead) {
  const Sample sample = make_sample(40, small_tick_log_options());
  sim::SimDisk whole(sample.image);
  const std::string path = segments_in(whole)[1];
  const auto entries = entries_of(whole, path);
  for (const std::size_t index : {std::size_t{0}, entries.size() / 2, entries.size() - 1}) {
    const journal::WalEntry& bad = entries[index];
    for (std::uint64_t offset = bad.offset; offset < bad.end; offset += 13) {
      sim::SimDisk disk(sample.image);
      flip_bit(disk, path, offset);
      const auto log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
      EXPECT_EQ(log->latest_tick(), 40u);
      const Shown shown = show(*log);
      ASSERT_FALSE(shown.status) << offset;
      EXPECT_EQ(shown.status.error().code(), ErrorCode::corruption);
      const std::string& message = shown.status.error().message();
      EXPECT_NE(message.find(path), std::string::npos) << message;
      EXPECT_NE(message.find("offset " + std::to_string(bad.offset)), std::string::npos) << message;
      EXPECT_EQ(shown.ticks, up_to(sample.ticks, bad.header.tick - 1));
      EXPECT_EQ(ticks_in(*log, entries.back().header.tick + 1).size(),
                40 - entries.back().header.tick);
    }
  }
}

TEST(TickLogDamage, AMissingSegmentIsFound) {
  const Sample sample = make_sample(40, small_tick_log_options(), true);
  sim::SimDisk whole(sample.image);
  const auto paths = segments_in(whole);
  ASSERT_GE(paths.size(), 4u);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (const bool is_damaged : {false, true}) {
      sim::SimDisk disk(sample.image);
      if (is_damaged) {
        flip_bit(disk, paths[i], 20);  // Its header.
      } else {
        ASSERT_TRUE(disk.remove(paths[i]));
      }
      const auto entries = entries_of(whole, paths[i]);
      const auto log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
      const bool is_first = i == 0;
      const bool is_last = i + 1 == paths.size();
      ASSERT_FALSE(log->report().problems.empty()) << i;
      EXPECT_EQ(log->report().problems.front().code(), ErrorCode::corruption);
      const std::uint64_t last_before = entries.front().header.tick - 1;
      if (is_last) {
        EXPECT_EQ(log->latest_tick(), last_before);
        continue;
      }
      const Shown shown = show(*log);
      EXPECT_EQ(shown.status.error().code(), ErrorCode::corruption) << i;
      if (!is_first) {
        EXPECT_EQ(shown.ticks, up_to(sample.ticks, last_before));
      }
      EXPECT_FALSE(show(*log, last_before, last_before + 2).status);
      EXPECT_EQ(ticks_in(*log, entries.back().header.tick + 1).size(),
                40 - entries.back().header.tick);
    }
  }
}

TEST(TickLogDamage, ALogThatWasClosedAndEndsBeforeIsCorruption) {
  const Sample sample = make_sample(8, small_tick_log_options(), true);
  sim::SimDisk disk(sample.image);
  const std::string path = segments_in(disk).back();
  Buffer contents = contents_of(disk, path).clone();
  contents.resize(static_cast<std::size_t>(entries_of(disk, path).back().end - 1));
  replace_contents(disk, path, contents.view());
  const auto log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
  EXPECT_EQ(log->report().cut_after, std::nullopt);
  ASSERT_EQ(log->report().problems.size(), 1u);
  EXPECT_EQ(log->latest_tick(), 7u);
  EXPECT_NE(log->report().problems.front().message().find("closed at tick 8"), std::string::npos);
}

TEST(TickLogDamage, ADamagedMarkIsAProblemAndNothingMore) {
  const Sample sample = make_sample(8, small_tick_log_options(), true);
  sim::SimDisk disk(sample.image);
  flip_bit(disk, kLogDir + "/mark", 10);
  const auto log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
  EXPECT_EQ(log->report().problems.size(), 1u);
  EXPECT_EQ(ticks_in(*log), sample.ticks);
}

// Every bit of every file, one at a time: what is shown is true, and what is lost is told, unless
// it is the end of a log nobody closed.
TEST(TickLogDamage, NoFlippedBitShowsWrongBytes) {
  const Sample sample = make_sample(6, small_tick_log_options(), true);
  sim::SimDisk whole(sample.image);
  std::vector<std::string> paths = segments_in(whole);
  paths.push_back(kLogDir + "/mark");
  for (const std::string& path : paths) {
    const std::size_t size = contents_of(whole, path).size();
    for (std::size_t bit = 0; bit < 8 * size; bit += 3) {
      sim::SimDisk disk(sample.image);
      disk.set_recording(false);
      Buffer contents = contents_of(disk, path).clone();
      contents.span()[bit / 8] ^= std::byte{1} << (bit % 8);
      replace_contents(disk, path, contents.view());
      const auto log = TickLog::open(disk, kLogDir, small_tick_log_options());
      if (!log) continue;  // `unsupported`, or the like.
      const Shown shown = show(**log);
      for (const auto& [tick, payload] : shown.ticks) ASSERT_EQ(payload, sample.ticks.at(tick));
      const bool is_whole = shown.status && shown.ticks == sample.ticks;
      ASSERT_TRUE(is_whole || !shown.status || !(*log)->report().problems.empty()) << path << bit;
    }
  }
}

// --- Enemies -------------------------------------------------------------------------

// A segment of these bytes behind its header.
Result<std::unique_ptr<TickLog>> open_hostile(sim::SimDisk& disk, ByteView body,
                                              std::uint32_t alignment) {
  const journal::SegmentHeader header{
      .segment_id = 1, .start_tick = 0, .codec = CompressionId::lz4, .alignment = alignment};
  Buffer contents(journal::kSegmentHeaderSize + body.size());
  const auto head = journal::encode_segment_header(header);
  std::copy(head.begin(), head.end(), contents.data());
  std::copy(body.begin(), body.end(), contents.data() + head.size());
  EXPECT_TRUE(disk.create_dir(kLogDir));
  replace_contents(disk, kLogDir + "/" + journal::segment_name(1), contents.view());
  return TickLog::open(disk, kLogDir, small_tick_log_options());
}

Bytes hostile_entry(std::uint64_t tick, std::uint32_t claimed_size, ByteView payload,
                    bool is_stored) {
  journal::EntryHeader header{.payload_size = claimed_size, .is_stored = is_stored, .tick = tick};
  header.begins_group = true;
  header.checksum = journal::entry_checksum(header, payload, 1);
  Buffer entry(journal::kEntryHeaderSize + payload.size());
  journal::encode_entry_header(header, entry.data());
  std::copy(payload.begin(), payload.end(), entry.data() + journal::kEntryHeaderSize);
  return std::move(entry).freeze();
}

TEST(TickLogDamage, HostileSegmentsAreRefusedQuicklyAndWithoutMuchMemory) {
  // Padding all over; lengths beyond the file; a bomb that says it is 255 times its size.
  const std::string padding(1 << 20, '\xff');
  std::string bomb_bytes(4096, '\xff');
  store_le<std::uint32_t>(reinterpret_cast<std::byte*>(bomb_bytes.data()), 0xF0000000u);
  const Bytes bomb = hostile_entry(1, 4096, as_byte_view(bomb_bytes), false);
  const Bytes too_long = hostile_entry(1, journal::kPayloadSizeMax, as_byte_view("short"), true);
  // Each boundary begins an entry that claims all the rest.
  Buffer overlapping(256 << 10);
  for (std::size_t at = 0; at < overlapping.size(); at += 16) {
    const journal::EntryHeader header{
        .payload_size = static_cast<std::uint32_t>(overlapping.size() - at - 16),
        .begins_group = true,
        .tick = at,
        .checksum = 1};
    journal::encode_entry_header(header, overlapping.data() + at);
  }
  for (const std::uint32_t alignment : {1u, 16u, 512u, 4096u}) {
    for (const ByteView body : {as_byte_view(padding), bomb.view(), too_long.view(),
                                ByteView(overlapping.view()), as_byte_view("")}) {
      sim::SimDisk disk;
      const auto log = open_hostile(disk, body, alignment);
      if (!log) continue;
      EXPECT_FALSE((*log)->report().problems.empty() && show(**log).status);
      EXPECT_TRUE(show(**log).ticks.empty());
    }
  }
}

TEST(TickLogDamage, AFileUnderAnotherSegmentsNameIsNotUsed) {
  const Sample sample = make_sample(40, small_tick_log_options(), true);
  sim::SimDisk disk(sample.image);
  const auto paths = segments_in(disk);
  replace_contents(disk, paths[2], contents_of(disk, paths[1]));
  const auto log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
  EXPECT_FALSE(log->report().problems.empty());
  EXPECT_EQ(show(*log).status.error().code(), ErrorCode::corruption);
}

TEST(TickLogDamage, ANewerVersionIsUnsupported) {
  const Sample sample = make_sample(4, small_tick_log_options(), true);
  sim::SimDisk disk(sample.image);
  const std::string path = segments_in(disk).back();
  Buffer contents = contents_of(disk, path).clone();
  store_le<std::uint16_t>(contents.data() + 6, 2);
  store_le<std::uint32_t>(contents.data() + 60, crc32(contents.view().first(60)));
  replace_contents(disk, path, contents.view());
  EXPECT_EQ(TickLog::open(disk, kLogDir, small_tick_log_options()).error().code(),
            ErrorCode::unsupported);
  EXPECT_EQ(TickLog::open_to_read(disk, kLogDir).error().code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace varve::test
