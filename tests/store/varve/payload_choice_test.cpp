// Which encoding an encoder takes.
#include <gtest/gtest.h>

#include "sample_bytes.h"
#include "sample_payloads.h"
#include "support/allocation_watch.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// The forms a payload gets, by class.
PayloadInfo chosen(SpeedClass speed, ByteView payload, std::size_t cell_size = 0) {
  return info_of(encoded(encoder(speed, cell_size, true), payload));
}

TEST(PayloadChoice, WhatDoesNotGetSmallerIsStoredAsItIs) {
  for (const std::size_t size : {1u, 20u, 4096u, 300'000u}) {
    for (const SpeedClass speed : kAllSpeeds) {
      const PayloadInfo info = chosen(speed, noise(size), 4);
      EXPECT_EQ(info.transform, PayloadTransform::none);
      EXPECT_EQ(info.compression, PayloadCompression::none);
    }
  }
}

TEST(PayloadChoice, ALittleGainIsNotWorthDecompressing) {
  // A twentieth can be saved: enough for `balanced` and `small`, too little for `fast`.
  const std::string payload = std::string(noise(95'000).text()) + std::string(5'000, 'a');
  EXPECT_EQ(chosen(SpeedClass::fast, as_byte_view(payload)).compression, PayloadCompression::none);
  EXPECT_EQ(chosen(SpeedClass::small, as_byte_view(payload)).compression, PayloadCompression::zstd);
}

// LZ4 finds nothing in bytes that have seven bits each, and zstd an eighth.
TEST(PayloadChoice, SevenBitsAreNoNoise) {
  std::string payload(noise(16 << 10).text());
  for (char& c : payload) c = static_cast<char>(c & 0x7f);
  const ByteView view = as_byte_view(payload);
  EXPECT_EQ(chosen(SpeedClass::balanced, view).compression, PayloadCompression::zstd);
  EXPECT_EQ(chosen(SpeedClass::fast, view).compression, PayloadCompression::none);
}

TEST(PayloadChoice, AClassTakesWhatItHas) {
  const std::string payload = cells(50'000);
  const ByteView view = as_byte_view(payload);
  EXPECT_EQ(chosen(SpeedClass::raw, view).compression, PayloadCompression::none);
  EXPECT_EQ(chosen(SpeedClass::fast, view).compression, PayloadCompression::lz4);
  EXPECT_EQ(chosen(SpeedClass::balanced, view).compression, PayloadCompression::zstd);
}

TEST(PayloadChoice, ASlowerClassIsNotLarger) {
  for (const std::string& payload :
       {cells(50'000), cells(500), std::string(record(3).text()), std::string(100'000, 'a')}) {
    std::size_t last = ~std::size_t{0};
    for (const SpeedClass speed : kAllSpeeds) {
      const std::size_t size = encoded(encoder(speed, 4, true), as_byte_view(payload)).size();
      EXPECT_LE(size, last);
      last = size;
    }
  }
}

TEST(PayloadChoice, PlanesAreTakenWhereTheyAreSmallerAndNowhereElse) {
  const std::string of_cells = cells(50'000);
  std::string words;
  while (words.size() < 200'000) words += "a sentence has no cells of four bytes; ";
  for (const SpeedClass speed : {SpeedClass::fast, SpeedClass::balanced, SpeedClass::small}) {
    const PayloadInfo info = chosen(speed, as_byte_view(of_cells), 4);
    EXPECT_EQ(info.transform, PayloadTransform::planes);
    EXPECT_EQ(info.stride, 4);
    EXPECT_EQ(chosen(speed, as_byte_view(words), 4).transform, PayloadTransform::none);
    EXPECT_EQ(chosen(speed, as_byte_view(of_cells), 0).transform, PayloadTransform::none);
  }
}

TEST(PayloadChoice, ADeltaIsTakenOnlyIfItIsSmaller) {
  // All zeros is less than any account of how it differs from noise.
  const Bytes nothing = zeros(50'000);
  const Bytes base = noise(50'000);
  for (const SpeedClass speed : kAllSpeeds) {
    const Bytes with = encoded(encoder(speed), nothing, &base);
    EXPECT_EQ(info_of(with).transform, PayloadTransform::none);
    EXPECT_EQ(with.size(), encoded(encoder(speed), nothing).size());
    const Bytes same = encoded(encoder(speed), base, &base);
    EXPECT_EQ(info_of(same).transform,
              speed == SpeedClass::raw ? PayloadTransform::none : PayloadTransform::delta);
  }
}

TEST(PayloadChoice, ABaseOfAnotherSizeIsOfUse) {
  const Bytes base = noise(50'000);
  const Bytes shorter = base.slice(0, 30'000);
  const Bytes longer = Bytes::copy_of(std::string(base.text()) + std::string(5'000, '\0'));
  const Save save(base);
  for (const Bytes& payload : {shorter, longer}) {
    const Bytes frame = encoded(encoder(SpeedClass::fast), payload, &base);
    EXPECT_LT(frame.size(), 60u);
    EXPECT_EQ(decoded(frame, save.sources), payload.text());
  }
}

TEST(PayloadChoice, WorkingMemoryIsUsedAgainAndNotKeptForever) {
  const std::string small = cells(10'000);
  const std::string large = cells(2'000'000);
  const PayloadEncoder with = encoder(SpeedClass::fast, 4);
  ByteWriter out;
  ASSERT_TRUE(with.encode(kKey, as_byte_view(small), nullptr, out).ok());
  {
    const AllocationWatch watch;
    out.clear();
    ASSERT_TRUE(with.encode(kKey, as_byte_view(small), nullptr, out).ok());
    EXPECT_EQ(watch.peak_size(), 0u);
  }
  out = ByteWriter();
  const AllocationWatch watch;
  ASSERT_TRUE(with.encode(kKey, as_byte_view(large), nullptr, out).ok());
  EXPECT_GT(watch.peak_size(), large.size());
  out = ByteWriter();
  EXPECT_LT(watch.live_size(), 1u << 16);
}

}  // namespace
}  // namespace varve
