#include "codec/deflate.h"

#include <gtest/gtest.h>

#include "damage.h"
#include "sample_bytes.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"

namespace varve {
namespace {

using test::hex;

constexpr CompressionId kWrappings[] = {CompressionId::zlib, CompressionId::gzip,
                                        CompressionId::deflate};

Bytes compressed(CompressionId id, ByteView in) {
  ByteWriter out;
  EXPECT_TRUE(compression(id).compress(in, out).ok());
  return out.take();
}

// Made by zlib itself, so that both ends are not our own.
TEST(Deflate, StreamsOfAnotherLibrary) {
  const std::pair<CompressionId, Bytes> streams[] = {
      {CompressionId::zlib, hex("789c2b2ec9cf4b5548cc4b51280613285c00a1990aa5")},
      {CompressionId::gzip,
       hex("1f8b08000000000000032b2ec9cf4b5548cc4b51280613285c00dc47a7a51d000000")},
      {CompressionId::deflate, hex("2b2ec9cf4b5548cc4b51280613285c00")},
  };
  for (const auto& [id, stream] : streams) {
    const auto out = compression(id).decompress(stream, 100);
    ASSERT_TRUE(out.ok()) << out.error().message();
    EXPECT_EQ(out->text(), "stone and sand stone and sand");
  }
}

TEST(Deflate, ReportsHowMuchOfTheInputItTook) {
  const Bytes in = test::small_sample();
  for (const CompressionId id : kWrappings) {
    SCOPED_TRACE(compression(id).name());
    ByteWriter out;
    ASSERT_TRUE(compression(id).compress(in, out).ok());
    const std::size_t stream_size = out.size();
    out.zeros(4096);  // A sector's padding.
    const auto inflated = inflate_prefix(id, out.view(), 1 << 20);
    ASSERT_TRUE(inflated.ok()) << inflated.error().message();
    EXPECT_EQ(inflated->bytes, in);
    EXPECT_EQ(inflated->consumed_size, stream_size);
    Buffer reused;
    const auto consumed = inflate_prefix_into(id, out.view(), 1 << 20, reused);
    ASSERT_TRUE(consumed.ok());
    EXPECT_EQ(*consumed, stream_size);
    EXPECT_TRUE(equal(reused.view(), in));
  }
}

TEST(Deflate, AnyDamageToTheChecksumIsCorruption) {
  const Bytes in = test::small_sample();
  for (const CompressionId id : {CompressionId::zlib, CompressionId::gzip}) {
    SCOPED_TRACE(compression(id).name());
    const Bytes whole = compressed(id, in);
    // zlib ends in four bytes of Adler-32, gzip in a CRC-32 and the raw size.
    const std::size_t trailer_size = id == CompressionId::zlib ? 4 : 8;
    for (std::size_t i = whole.size() - trailer_size; i < whole.size(); ++i) {
      Buffer damaged = whole.clone();
      damaged.span()[i] ^= std::byte{0x10};
      const auto out = compression(id).decompress(damaged.view(), 1 << 20);
      ASSERT_FALSE(out.ok());
      EXPECT_EQ(out.error().code(), ErrorCode::corruption);
    }
  }
}

TEST(Deflate, AGzipSizeThatLiesCostsNoMoreThanTheLimit) {
  // The trailer claims 4 GiB, then the most deflate could yield, then nothing.
  const Bytes whole = compressed(CompressionId::gzip, test::zeros(5000));
  for (const std::uint32_t claimed : {0xffffffffu, 1032u * 20, 0u}) {
    Buffer lying = whole.clone();
    store_le<std::uint32_t>(lying.data() + lying.size() - 4, claimed);
    const test::AllocationWatch watch;
    EXPECT_FALSE(compression(CompressionId::gzip).decompress(lying.view(), 10'000).ok());
    EXPECT_LE(watch.peak_size(), 11'000u);
  }
}

TEST(Deflate, AGzipSizeThatDeflateCannotReachIsNotBelieved) {
  const Bytes whole = compressed(CompressionId::gzip, test::zeros(5000));
  Buffer lying = whole.clone();
  store_le<std::uint32_t>(lying.data() + lying.size() - 4, 0xffffffffu);
  const test::AllocationWatch watch;
  EXPECT_FALSE(compression(CompressionId::gzip).decompress(lying.view(), 64 << 20).ok());
  EXPECT_LE(watch.peak_size(), 64u << 10);
}

TEST(Deflate, APrefixTakesNoMoreThanTheLimit) {
  const Bytes in = test::noise(50'000);
  for (const CompressionId id : kWrappings) {
    const Bytes small = compressed(id, in);
    for (std::size_t limit = in.size(); limit <= 3 * in.size(); limit += in.size() / 20) {
      SCOPED_TRACE(limit);
      const test::AllocationWatch watch;
      const auto out = inflate_prefix(id, small, limit);
      EXPECT_LE(watch.peak_size(), limit + 2 * 4096);
      ASSERT_TRUE(out.ok());
      EXPECT_EQ(out->bytes, in);
    }
  }
}

TEST(Deflate, ASecondGzipMemberIsRefusedButCanBeReadByHand) {
  const Bytes first = compressed(CompressionId::gzip, as_byte_view("first"));
  ByteWriter both;
  both.bytes(first);
  ASSERT_TRUE(compression(CompressionId::gzip).compress(as_byte_view("second"), both).ok());
  const auto whole = compression(CompressionId::gzip).decompress(both.view(), 100);
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().code(), ErrorCode::corruption);
  const auto one = inflate_prefix(CompressionId::gzip, both.view(), 100);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->bytes.text(), "first");
  EXPECT_EQ(one->consumed_size, first.size());
  const auto two =
      inflate_prefix(CompressionId::gzip, both.view().subspan(one->consumed_size), 100);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->bytes.text(), "second");
}

TEST(Deflate, TheWrappingsAreNotTakenForEachOther) {
  const Bytes in = test::small_sample();
  for (const CompressionId written : kWrappings) {
    for (const CompressionId read : kWrappings) {
      const auto out = compression(read).decompress(compressed(written, in), 1 << 20);
      EXPECT_EQ(out.ok(), written == read)
          << compression(written).name() << " as " << compression(read).name();
    }
  }
}

}  // namespace
}  // namespace varve
