// The bytes of a log of ticks, and the examples of docs/formats/rgb_wal_v1.md.
#include "journal/wal_format.h"

#include <gtest/gtest.h>

#include "base/byte_writer.h"
#include "io/sim/sim_disk.h"
#include "journal/tick_log_subject.h"
#include "journal/tick_log_views.h"
#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve::test {
namespace {

using namespace journal;  // NOLINT(google-build-using-namespace)

TEST(WalFormat, ASegmentIsAsThePageShowsIt) {
  sim::SimDisk disk;
  const auto log = TickLog::open(disk, kLogDir, small_tick_log_options()).value();
  ASSERT_TRUE(log->append(7, as_byte_view("hello")));
  ASSERT_TRUE(log->append(9, as_byte_view(std::string(64, 'a'))));
  ASSERT_TRUE(log->close());
  const Bytes file = contents_of(disk, kLogDir + "/0000000000000001.wal");
  ASSERT_EQ(file.size(), 1536u);
  ByteWriter shown;
  shown.bytes(file.slice(0, 68));
  shown.bytes(file.slice(512, 25));
  shown.bytes(file.slice(1024, 35));
  EXPECT_EQ(to_hex(shown.view()), to_hex(example_of("rgb_wal_v1.md", "A segment with two ticks")));
  EXPECT_EQ(to_hex(contents_of(disk, kLogDir + "/mark")),
            to_hex(example_of("rgb_wal_v1.md", "A mark")));
}

TEST(WalFormat, HeadersComeBackAsTheyWere) {
  for (const std::uint32_t alignment : {1u, 2u, 512u, 4096u}) {
    for (const bool is_first : {false, true}) {
      SegmentHeader header{.segment_id = 12,
                           .start_tick = 345,
                           .codec = CompressionId::zstd,
                           .alignment = alignment,
                           .after_damage = is_first};
      if (!is_first) header.previous = Link{.segment_id = 9, .tick = 344};
      const auto bytes = encode_segment_header(header);
      const SegmentHeader read = decode_segment_header(bytes).value();
      EXPECT_EQ(read.segment_id, header.segment_id);
      EXPECT_EQ(read.start_tick, header.start_tick);
      EXPECT_EQ(read.codec, header.codec);
      EXPECT_EQ(read.alignment, header.alignment);
      EXPECT_EQ(read.previous, header.previous);
      EXPECT_EQ(read.after_damage, header.after_damage);
    }
  }
  for (const Mark& mark : {Mark{}, Mark{.oldest_segment_id = 3, .closed_at = Link{4, 5}}}) {
    EXPECT_EQ(decode_mark(encode_mark(mark)).value(), mark);
  }
}

TEST(WalFormat, EveryTruncationAndEveryFlippedBitIsCorruption) {
  const auto check = [](auto bytes, const auto& decode) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(decode(ByteView(bytes).first(size)).error().code(), ErrorCode::corruption);
    }
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_EQ(decode(bytes).error().code(), ErrorCode::corruption) << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  };
  const SegmentHeader header{.segment_id = 2, .start_tick = 3, .previous = Link{1, 2}};
  check(encode_segment_header(header), decode_segment_header);
  check(encode_mark({.oldest_segment_id = 1, .closed_at = Link{2, 3}}), decode_mark);
}

TEST(WalFormat, WhatDoesNotFollowIsCorruption) {
  for (const Link previous : {Link{2, 1}, Link{3, 1}, Link{1, 3}, Link{1, 4}}) {
    const SegmentHeader header{.segment_id = 2, .start_tick = 3, .previous = previous};
    EXPECT_EQ(decode_segment_header(encode_segment_header(header)).error().code(),
              ErrorCode::corruption);
  }
}

TEST(WalFormat, AnEntrysChecksumCoversEverything) {
  const EntryHeader header{.payload_size = 3, .is_stored = true, .tick = 5};
  const std::uint32_t checksum = entry_checksum(header, as_byte_view("abc"), 1);
  EXPECT_NE(checksum, entry_checksum(header, as_byte_view("abd"), 1));
  EXPECT_NE(checksum, entry_checksum(header, as_byte_view("abc"), 2));
  for (const auto& change :
       {+[](EntryHeader& h) { h.tick = 6; }, +[](EntryHeader& h) { h.is_stored = false; },
        +[](EntryHeader& h) { h.begins_group = true; },
        +[](EntryHeader& h) { h.is_behind_durable = true; }}) {
    EntryHeader changed = header;
    change(changed);
    EXPECT_NE(checksum, entry_checksum(changed, as_byte_view("abc"), 1));
  }
}

TEST(WalFormat, NoEntryBeginsWhereALengthDoesNotFitBeforeTheBoundary) {
  EXPECT_EQ(entry_position(512, 512), 512u);
  EXPECT_EQ(entry_position(508, 512), 508u);
  for (const std::uint64_t offset : {509, 510, 511}) {
    EXPECT_EQ(entry_position(offset, 512), 512u);
  }
  EXPECT_EQ(entry_position(509, 1), 509u);
}

TEST(WalFormat, ASegmentHasOneName) {
  EXPECT_EQ(segment_name(255), "00000000000000ff.wal");
  EXPECT_EQ(parse_segment_name("00000000000000ff.wal"), 255u);
  for (const char* name : {"ff.wal", "00000000000000FF.wal", "00000000000000fg.wal",
                           "00000000000000ff.log", "+0000000000000ff.wal", ""}) {
    EXPECT_EQ(parse_segment_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace varve::test
