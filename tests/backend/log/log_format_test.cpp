// The bytes of a log beside its page, and what makes them valid.
#include "backend/log/log_format.h"

#include <gtest/gtest.h>

#include "backend/log/batch_encoder.h"
#include "base/byte_writer.h"
#include "base/endian.h"
#include "support/bytes_text.h"
#include "support/format_page.h"
#include "varve/checksum.h"

namespace varve::log {
namespace {

using test::example_of;
using test::to_hex;

constexpr SegmentHeader kHeader{.log_id = 0x1122334455667788, .segment_id = 1, .salt = 0x5a17};

// Without the zeros that fill its blocks, as the page shows it.
Bytes example_segment() {
  ByteWriter segment;
  segment.bytes(encode_segment_header(kHeader).slice(0, 48));
  BatchEncoder encoder;
  encoder.add({as_byte_view("a"), as_byte_view("hello"), 1});
  encoder.add({as_byte_view("b"), std::nullopt, 1});
  BatchHeader header{.sequence = 1, .first_sequence = 1, .chain = kHeader.salt};
  const ByteView batch = encoder.encode(header, kHeader.salt, kBlockSize);
  segment.bytes(batch.first(static_cast<std::size_t>(header.size)));
  return segment.take();
}

ControlRecord example_control() {
  return {.log_id = kHeader.log_id,
          .counter = 3,
          .durable_sequence = 1,
          .horizon = 0,
          .clean = true,
          .active_segment_id = 1,
          .active_size = kBlockSize};
}

TEST(LogFormat, ASegmentIsWrittenAsThePageSays) {
  EXPECT_EQ(to_hex(example_segment()),
            to_hex(example_of("varve_log_v1.md", "A segment with one batch")));
}

// A hash that is known is taken into the checksum where the page lets it, and nothing else changes.
TEST(LogFormat, AValueThatComesWithAHashIsWrittenAsAnyOther) {
  for (const std::size_t head_size : {0, 15, 16, 17}) {
    for (const std::size_t body_size : {0, 1, 16, 240, 241, 5000}) {
      const std::string head(head_size, 'h');
      const std::string body(body_size, 'b');
      const BatchValue in_two(Bytes::copy_of(head), HashedBytes(Bytes::copy_of(body)));
      const Bytes whole = in_two.joined();
      std::string batches[2];
      for (const bool has_hash : {false, true}) {
        BatchEncoder encoder;
        encoder.add(
            {as_byte_view("a"), has_hash ? ValuePieces(in_two) : ValuePieces(whole.view()), 1});
        BatchHeader header{.sequence = 1, .first_sequence = 1, .chain = kHeader.salt};
        batches[has_hash ? 1 : 0] =
            to_hex(encoder.encode(header, kHeader.salt, kBlockSize).first(header.size));
      }
      EXPECT_EQ(batches[0], batches[1]) << head_size << " and " << body_size;
    }
  }
}

TEST(LogFormat, AControlRecordIsWrittenAsThePageSays) {
  EXPECT_EQ(to_hex(encode_control(example_control())),
            to_hex(example_of("varve_log_v1.md", "A control record")));
}

TEST(LogFormat, ThePageIsReadAsItWasWritten) {
  const Bytes example = example_of("varve_log_v1.md", "A segment with one batch");
  const auto segment = decode_segment_header(example.slice(0, 48));
  ASSERT_TRUE(segment) << segment.error().message();
  EXPECT_EQ(segment->segment_id, 1u);
  EXPECT_EQ(segment->salt, kHeader.salt);

  const ByteView batch = example.slice(48);
  const auto header = decode_batch_header(batch, batch.size());
  ASSERT_TRUE(header);
  EXPECT_TRUE(has_good_head(*header, batch, kHeader.salt));
  EXPECT_FALSE(has_good_head(*header, batch, kHeader.salt + 1)) << "another life of the file";
  const auto entries = decode_directory(*header, batch, kBlockSize);
  ASSERT_TRUE(entries) << entries.error().message();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(as_text((*entries)[0].key), "a");
  EXPECT_EQ((*entries)[0].value_size, 5u);
  EXPECT_EQ((*entries)[0].version, 1u);
  EXPECT_EQ((*entries)[0].offset % 16, 0u);
  EXPECT_EQ((*entries)[0].checksum, value_checksum(as_byte_view("a"), as_byte_view("hello"),
                                                   kHeader.salt, (*entries)[0].offset));
  EXPECT_TRUE((*entries)[1].erases);
}

TEST(LogFormat, EveryChangedBitOfAHeadIsFound) {
  const Bytes example = example_segment();
  for (std::size_t bit = 0; bit < 48 * 8; ++bit) {
    Buffer changed = example.slice(0, 48).clone();
    changed.data()[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto header = decode_segment_header(changed.view());
    // A flipped bit in the version is no newer program: with ours in its place all is right.
    const bool is_version = bit / 8 >= 8 && bit / 8 < 12;
    EXPECT_EQ(header.ok(), is_version) << "bit " << bit;
    EXPECT_EQ(header ? header->salt : kHeader.salt, kHeader.salt);
  }
  const Bytes batch = example.slice(48);
  const std::size_t head_size =
      kBatchHeaderSize + decode_batch_header(batch, batch.size())->directory_size;
  for (std::size_t bit = 0; bit < head_size * 8; ++bit) {
    Buffer changed = batch.clone();
    changed.data()[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto header = decode_batch_header(changed.view(), changed.size());
    EXPECT_FALSE(header && has_good_head(*header, changed.view(), kHeader.salt)) << "bit " << bit;
  }
}

TEST(LogFormat, ANewerVersionIsRefusedWithAdvice) {
  Buffer changed = encode_segment_header(kHeader).clone();
  changed.data()[8] = std::byte{2};
  store_le<std::uint64_t>(changed.data() + 40, xxh3(changed.view().first(40)));
  const auto segment = decode_segment_header(changed.view());
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().code(), ErrorCode::unsupported);
  EXPECT_NE(segment.error().message().find("newer"), std::string::npos);
}

TEST(LogFormat, NamesOfSegmentsHaveOneSpelling) {
  EXPECT_EQ(segment_name(0x2a), "000000000000002a.log");
  EXPECT_EQ(parse_segment_name("000000000000002a.log"), 0x2au);
  for (const char* name : {"2a.log", "000000000000002A.log", "000000000000002a.log.tmp",
                           "00000000000000000000002a.log", ".log", "000000000000002g.log"}) {
    EXPECT_FALSE(parse_segment_name(name)) << name;
  }
}

TEST(LogFormat, ACheckpointsHeadIsReadAsItWasWritten) {
  CheckpointHead head{.log_id = 1,
                      .generation = 2,
                      .sequence = 3,
                      .needed_sequence = 4,
                      .tail_segment_id = 5,
                      .tail_offset = 2 * kBlockSize,
                      .tail_chain = 7,
                      .next_segment_id = 8,
                      .head_size = kBlockSize};
  head.segments.push_back({.id = 5,
                           .salt = 9,
                           .kind = SegmentKind::moved,
                           .slot = 10,
                           .used_end = 3 * kBlockSize,
                           .first_sequence = 12,
                           .punched_size = 13,
                           .erasure_size = 14});
  const Bytes encoded = encode_checkpoint_head(head);
  ASSERT_EQ(encoded.size(), kBlockSize);
  const auto decoded = decode_checkpoint_head(encoded);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(to_hex(encode_checkpoint_head(*decoded)), to_hex(encoded));
  for (std::size_t size = 0; size < encoded.size(); size += 7) {
    EXPECT_FALSE(decode_checkpoint_head(encoded.slice(0, size))) << size;
  }
}

}  // namespace
}  // namespace varve::log
