// Damaged, hostile and strange frames: an error, or the payload; never other bytes.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "codec/byte_planes.h"
#include "codec/lz4.h"
#include "codec/sparse_delta.h"
#include "damage.h"
#include "sample_bytes.h"
#include "sample_payloads.h"
#include "store/varve/payload_frame.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "varve/checksum.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr PayloadTransform kNoTransform = PayloadTransform::none;
constexpr PayloadCompression kNoCompression = PayloadCompression::none;

struct Sample {
  std::string name;
  Bytes frame;
  std::string payload;
};

const Bytes& base() {
  static const Bytes bytes = noise(300);
  return bytes;
}

// A frame of `info` with this body, sealed as if it were good.
Bytes sealed(const PayloadInfo& info, ByteView body) {
  ByteWriter out;
  begin_frame(info, out);
  out.bytes(body);
  seal_frame(kKey, 0, out);
  return out.take();
}

// The body of `payload` as `with` makes it, whatever it then is worth.
Bytes compressed(PayloadCompression with, ByteView in) {
  ByteWriter out;
  Status done;
  switch (with) {
    case PayloadCompression::none:
      out.bytes(in);
      break;
    case PayloadCompression::lz4:
      done = lz4_compress_block(in, 1, out);
      break;
    case PayloadCompression::zstd:
      done = compression(CompressionId::zstd).compress(in, out);
      break;
    case PayloadCompression::zstd_dictionary:
      done = dictionary()->compression().compress(in, out);
      break;
  }
  EXPECT_TRUE(done.ok());
  return out.take();
}

// One of every form there is.
std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&](PayloadInfo info, ByteView body, std::string_view payload) {
    for (const auto with : {PayloadCompression::none, PayloadCompression::lz4,
                            PayloadCompression::zstd, PayloadCompression::zstd_dictionary}) {
      if (info.transform == PayloadTransform::planes && with == PayloadCompression::none) continue;
      info.compression = with;
      if (with == PayloadCompression::zstd_dictionary) info.dictionary_number = kDictionaryNumber;
      all.push_back({"transform " + std::to_string(static_cast<int>(info.transform)) +
                         ", compression " + std::to_string(static_cast<int>(with)),
                     sealed(info, compressed(with, body)), std::string(payload)});
    }
  };
  const Bytes text = small_sample();
  add({.payload_size = text.size()}, text, text.text());
  const std::string of_cells = cells(60);
  Buffer planes(of_cells.size());
  split_byte_planes(as_byte_view(of_cells), 4, planes.span());
  add({.transform = PayloadTransform::planes, .payload_size = of_cells.size(), .stride = 4},
      planes.view(), of_cells);
  Buffer edited = base().clone();
  for (const std::size_t at : {3u, 70u, 71u, 299u}) edited.data()[at] ^= std::byte{0x55};
  ByteWriter delta;
  EXPECT_TRUE(encode_sparse_delta(base(), edited.view(), 1, delta).ok());
  add({.transform = PayloadTransform::delta,
       .payload_size = edited.size(),
       .generator_number = kHillsNumber,
       .base_hash = xxh3(base()),
       .delta_size = delta.size()},
      delta.view(), as_text(edited.view()));
  all.push_back({"empty", sealed({}, {}), ""});
  return all;
}

ErrorCode code_of(const Bytes& frame, const PayloadSources& sources) {
  const auto out = decode_payload(kKey, frame, sources);
  EXPECT_FALSE(out.ok());
  return out ? ErrorCode::not_found : out.error().code();
}

TEST(PayloadDamage, EveryFormIsReadAsItWas) {
  const Save save(base());
  const auto all = samples();
  EXPECT_EQ(all.size(), 12u);
  for (const Sample& sample : all) {
    SCOPED_TRACE(sample.name);
    EXPECT_EQ(decoded(sample.frame, save.sources), sample.payload);
  }
}

TEST(PayloadDamage, EveryTruncationIsCorruption) {
  const Save save(base());
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    for_every_prefix(sample.frame, [&](const Bytes& cut) {
      EXPECT_EQ(code_of(cut, save.sources), ErrorCode::corruption);
      (void)inspect_payload(cut);
    });
  }
}

TEST(PayloadDamage, EveryFlippedBitIsCorruption) {
  const Save save(base());
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    for_every_bit_flip(sample.frame, [&](const Bytes& flipped) {
      EXPECT_EQ(code_of(flipped, save.sources), ErrorCode::corruption);
      (void)inspect_payload(flipped);
    });
  }
}

// What somebody with the checksum at hand may write. Wrong bytes cannot be told then, but
// nothing else may happen.
TEST(PayloadDamage, DamageWithAChecksumThatFitsIsAnErrorOrAPayloadOfTheSizeClaimed) {
  Save save(base());
  save.sources.is_verified = true;
  const auto check = [&](const Bytes& frame) {
    const auto out = decode_payload(kKey, frame, save.sources);
    if (!out) return;
    EXPECT_EQ(out->size(), info_of(frame).payload_size);
  };
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    for_every_prefix(sample.frame, check);
    for_every_bit_flip(sample.frame, check);
  }
}

TEST(PayloadDamage, BytesBehindTheBodyAreCorruption) {
  Save save(base());
  save.sources.is_verified = true;
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const Bytes longer = Bytes::copy_of(std::string(sample.frame.text()) + '\0');
    EXPECT_EQ(code_of(longer, save.sources), ErrorCode::corruption);
  }
}

TEST(PayloadDamage, ReservedFormsAreUnsupported) {
  const Save save;
  for (int form = 0; form < 256; ++form) {
    const PayloadInfo info{.transform = static_cast<PayloadTransform>(form >> 4),
                           .compression = static_cast<PayloadCompression>(form & 15),
                           .payload_size = 5};
    if (form >> 4 <= 3 && (form & 15) <= 3) continue;
    EXPECT_EQ(code_of(sealed(info, as_byte_view("stone")), save.sources), ErrorCode::unsupported);
  }
}

TEST(PayloadDamage, AReferenceToASharedPayloadIsNoPayload) {
  const Save save;
  for (int compression = 0; compression <= 3; ++compression) {
    const PayloadInfo info{.transform = PayloadTransform::shared,
                           .compression = static_cast<PayloadCompression>(compression),
                           .payload_size = 5,
                           .content_hash = {.high = 1, .low = 2}};
    EXPECT_EQ(code_of(sealed(info, {}), save.sources), ErrorCode::corruption) << compression;
  }
}

TEST(PayloadDamage, SpellingsThatNothingWritesAreCorruption) {
  const Save save(base());
  const PayloadInfo bad[] = {
      {.compression = PayloadCompression::lz4},
      {.transform = PayloadTransform::planes, .compression = PayloadCompression::lz4, .stride = 2},
      {.transform = PayloadTransform::planes, .payload_size = 5, .stride = 2},
      {.transform = PayloadTransform::planes,
       .compression = PayloadCompression::lz4,
       .payload_size = 5,
       .stride = 1},
      {.payload_size = 5, .stride = 4},
      {.transform = PayloadTransform::delta, .payload_size = 5, .delta_size = 5},
      {.transform = kNoTransform, .compression = kNoCompression, .payload_size = 4},
      {.transform = kNoTransform, .compression = kNoCompression, .payload_size = 6}};
  for (const PayloadInfo& info : bad) {
    EXPECT_EQ(code_of(sealed(info, as_byte_view("stone")), save.sources), ErrorCode::corruption);
  }
  // Numbers with a byte that adds nothing: of the dictionary, the generator and the delta's size.
  // Spelled as they should be, such heads are read.
  const PayloadInfo with_dictionary{.compression = PayloadCompression::zstd_dictionary,
                                    .payload_size = 5};
  const PayloadInfo delta{.transform = PayloadTransform::delta, .payload_size = 5};
  const std::pair<PayloadInfo, std::vector<std::string_view>> spellings[] = {
      {with_dictionary, {"05", "8500"}},
      {delta, {"01 0000000000000000 04", "8100 0000000000000000 04", "01 0000000000000000 8400"}}};
  for (const auto& [info, numbers] : spellings) {
    for (const std::string_view number : numbers) {
      ByteWriter out;
      begin_frame(info, out);
      out.truncate(kFrameStartSize);
      out.bytes(hex(number));
      const auto head = read_head(out.view());
      EXPECT_EQ(head.ok(), number == numbers.front()) << number;
      EXPECT_TRUE(head.ok() || head.error().code() == ErrorCode::corruption) << number;
    }
  }
}

TEST(PayloadDamage, AHugeSizeIsRefusedBeforeMemoryIsTaken) {
  const Save save(base());
  const Bytes body = noise(100);
  for (const auto transform :
       {PayloadTransform::none, PayloadTransform::planes, PayloadTransform::delta}) {
    for (const auto with : {PayloadCompression::none, PayloadCompression::lz4,
                            PayloadCompression::zstd, PayloadCompression::zstd_dictionary}) {
      const std::uint8_t stride = transform == PayloadTransform::planes ? 4 : 0;
      for (const std::uint64_t size :
           {kPayloadSizeMax, kPayloadSizeMax + 1, std::uint64_t{0xffffffff}}) {
        const Bytes frame = sealed({.transform = transform,
                                    .compression = with,
                                    .payload_size = size,
                                    .stride = stride,
                                    .dictionary_number = kDictionaryNumber,
                                    .generator_number = kHillsNumber,
                                    .base_hash = xxh3(base()),
                                    .delta_size = size - 1},
                                   body);
        const AllocationWatch watch;
        EXPECT_EQ(code_of(frame, save.sources), ErrorCode::corruption);
        EXPECT_LT(watch.peak_size(), 1u << 16);
      }
    }
  }
}

TEST(PayloadDamage, ABombInAZstdFrameStopsAtTheSizeOfTheHead) {
  const Bytes bomb = compressed(PayloadCompression::zstd, zeros(8 << 20));
  const Bytes frame = sealed({.compression = PayloadCompression::zstd, .payload_size = 1000}, bomb);
  const AllocationWatch watch;
  EXPECT_EQ(code_of(frame, {}), ErrorCode::corruption);
  EXPECT_LT(watch.peak_size(), 1u << 16);
}

TEST(PayloadDamage, ADeltaThatMakesAnotherSizeIsCorruption) {
  const Save save(base());
  ByteWriter delta;
  ASSERT_TRUE(encode_sparse_delta(base(), base().view().first(200), 1, delta).ok());
  const PayloadInfo info{.transform = PayloadTransform::delta,
                         .payload_size = 201,
                         .generator_number = kHillsNumber,
                         .base_hash = xxh3(base()),
                         .delta_size = delta.size()};
  EXPECT_EQ(code_of(sealed(info, delta.view()), save.sources), ErrorCode::corruption);
}

}  // namespace
}  // namespace varve
