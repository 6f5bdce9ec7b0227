// What is promised of sizes, on the chunks of the benchmarks. Sizes are exact, so that they
// can be asserted; times are only measured (bench/workloads/payload.cpp).
#include <gtest/gtest.h>

#include "codec/lz4.h"
#include "codec_data.h"
#include "sample_payloads.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kSeed = 20'250'711;  // that of the benchmarks

std::size_t lz4_size(ByteView in) {
  ByteWriter out;
  EXPECT_TRUE(lz4_compress_block(in, 1, out).ok());
  return out.size();
}

TEST(PayloadSizes, AFrameAddsLittle) {
  const Bytes pixels = bench::make_pixel_chunk(kSeed).freeze();
  const Bytes frame = encoded(encoder(SpeedClass::fast), pixels);
  EXPECT_EQ(info_of(frame).compression, PayloadCompression::lz4);
  EXPECT_LE(frame.size(), lz4_size(pixels) + kFrameOverheadMax);
}

TEST(PayloadSizes, PlanesMakePixelTerrainAtLeastSevenFifthsSmaller) {
  const Bytes pixels = bench::make_pixel_chunk(kSeed).freeze();
  for (const SpeedClass speed : {SpeedClass::fast, SpeedClass::balanced, SpeedClass::small}) {
    const Bytes frame = encoded(encoder(speed, bench::kPixelSize), pixels);
    EXPECT_EQ(info_of(frame).transform, PayloadTransform::planes);
    EXPECT_LE(frame.size() * 14, lz4_size(pixels) * 10);
    const Save save;
    EXPECT_EQ(decoded(frame, save.sources), pixels.text());
  }
}

TEST(PayloadSizes, AChunkEditedInOnePercentIsADeltaOfAtMost15KB) {
  const Bytes base = bench::make_pixel_chunk(kSeed).freeze();
  const Bytes edited = bench::edit_one_percent(base, bench::kPixelSize, kSeed + 7).freeze();
  ASSERT_EQ(edited.size(), 512u * 512 * 4);
  const Save save(base);
  for (const SpeedClass speed : {SpeedClass::fast, SpeedClass::balanced, SpeedClass::small}) {
    for (const std::size_t cell_size : {0u, 4u}) {
      const Bytes frame = encoded(encoder(speed, cell_size), edited, &base);
      EXPECT_EQ(info_of(frame).transform, PayloadTransform::delta);
      EXPECT_LE(frame.size(), 15'000u);
      EXPECT_EQ(decoded(frame, save.sources), edited.text());
    }
  }
}

// Edits that have nothing in common with what was there, or with each other.
TEST(PayloadSizes, SoIsOneWhoseEditsAreNoise) {
  const Bytes base = bench::make_pixel_chunk(kSeed).freeze();
  Buffer edited = base.clone();
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1'664'525 + 1'013'904'223; };
  for (int i = 0; i < 512 * 512 / 100; ++i) {
    std::byte* const cell = edited.data() + std::size_t{next() >> 14} * 4;
    for (int b = 0; b < 4; ++b) cell[b] = static_cast<std::byte>(next() >> 20);
  }
  for (const SpeedClass speed : {SpeedClass::fast, SpeedClass::balanced, SpeedClass::small}) {
    const Bytes frame = encoded(encoder(speed, 4), edited.view(), &base);
    EXPECT_EQ(info_of(frame).transform, PayloadTransform::delta);
    EXPECT_LE(frame.size(), 15'000u);
  }
}

TEST(PayloadSizes, ADictionaryMakesSmallChunksAtLeastEightPercentSmaller) {
  // A small chunk is the first 8 KiB of one in the shape of a Minecraft chunk: one section.
  constexpr std::size_t kSmallSize = 8 << 10;
  std::vector<Bytes> chunks;
  for (std::uint64_t i = 0; i < 400; ++i) {
    chunks.push_back(bench::make_nbt_chunk(kSeed + 100 + i).slice(0, kSmallSize));
  }
  const std::vector<ByteView> learned(chunks.begin(), chunks.begin() + 300);
  const auto bytes = train_payload_dictionary(learned);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  const auto plain = PayloadEncoder::make({.speed = SpeedClass::balanced});
  const auto with =
      PayloadEncoder::make({.speed = SpeedClass::balanced, .dictionary = dictionary_of(1, *bytes)});
  ASSERT_TRUE(plain.ok() && with.ok());
  std::size_t plain_size = 0;
  std::size_t with_size = 0;
  for (std::size_t i = 300; i < chunks.size(); ++i) {
    plain_size += encoded(*plain, chunks[i]).size();
    with_size += encoded(*with, chunks[i]).size();
  }
  EXPECT_LE(with_size * 100, plain_size * 92);
}

}  // namespace
}  // namespace varve
