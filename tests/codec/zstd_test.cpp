#include "codec/zstd.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "damage.h"
#include "sample_bytes.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"

namespace varve {
namespace {

using test::hex;

constexpr std::size_t kLimit = 1 << 20;

// A record that resembles the others, as chunks of one world do.
Bytes record(int i) {
  std::string text = "{\"kind\":\"chest\",\"owner\":\"player" + std::to_string(i % 17) + "\",";
  text += "\"items\":[\"oak_planks\",\"cobblestone\",\"torch\"],\"position\":[";
  text += std::to_string(i * 31) + "," + std::to_string(i % 256) + "]}";
  return Bytes::copy_of(text);
}

Bytes trained(int first) {
  std::vector<Bytes> records;
  for (int i = 0; i < 2000; ++i) records.push_back(record(first + i));
  const std::vector<ByteView> samples(records.begin(), records.end());
  const auto dictionary = ZstdDictionary::train(samples, 4096);
  EXPECT_TRUE(dictionary.ok()) << dictionary.error().message();
  return *dictionary;
}

// Training takes a while; once is enough.
const Bytes& dictionary_bytes() {
  static const Bytes bytes = trained(0);
  return bytes;
}

std::unique_ptr<const Compression> with_dictionary(const Bytes& bytes) {
  const auto dictionary = ZstdDictionary::prepare(bytes);
  EXPECT_TRUE(dictionary.ok()) << dictionary.error().message();
  return make_zstd(*dictionary);
}

Bytes compressed(const Compression& codec, ByteView in) {
  ByteWriter out;
  EXPECT_TRUE(codec.compress(in, out).ok());
  return out.take();
}

TEST(Zstd, ADictionaryMakesSmallRecordsSmaller) {
  const auto codec = with_dictionary(dictionary_bytes());
  EXPECT_EQ(codec->id(), CompressionId::zstd);
  const Bytes in = record(5000);
  const Bytes small = compressed(*codec, in);
  EXPECT_LT(small.size() * 2, compressed(compression(CompressionId::zstd), in).size());
  const auto back = codec->decompress(small, in.size());
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(*back, in);
}

TEST(Zstd, AFrameWithoutItsDictionaryIsUnsupported) {
  const Bytes small = compressed(*with_dictionary(dictionary_bytes()), record(1));
  const auto dictionary = ZstdDictionary::prepare(dictionary_bytes());
  ASSERT_TRUE(dictionary.ok());
  const auto out = compression(CompressionId::zstd).decompress(small, kLimit);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(out.error().message(), "zstd: the frame needs dictionary " +
                                       std::to_string((*dictionary)->id()) + ", none is given");
}

TEST(Zstd, AFrameOfAnotherDictionaryIsUnsupported) {
  const auto mine = ZstdDictionary::prepare(dictionary_bytes());
  const auto other = ZstdDictionary::prepare(trained(100'000));
  ASSERT_TRUE(mine.ok() && other.ok());
  ASSERT_NE((*mine)->id(), (*other)->id());
  const Bytes small = compressed(*make_zstd(*mine), record(1));
  const auto out = make_zstd(*other)->decompress(small, kLimit);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::unsupported);
}

TEST(Zstd, AFrameOfNoDictionaryIsReadWithOne) {
  // A world may have been saved before its dictionary was trained.
  const Bytes in = record(3);
  const Bytes plain = compressed(compression(CompressionId::zstd), in);
  const auto out = with_dictionary(dictionary_bytes())->decompress(plain, kLimit);
  ASSERT_TRUE(out.ok()) << out.error().message();
  EXPECT_EQ(*out, in);
}

TEST(Zstd, TheBytesOfADictionaryAreEnoughToReadWithIt) {
  const auto dictionary = ZstdDictionary::prepare(dictionary_bytes());
  ASSERT_TRUE(dictionary.ok());
  const Bytes stored = Bytes::copy_of((*dictionary)->bytes().view());
  const Bytes small = compressed(*make_zstd(*dictionary), record(9));
  const auto out = with_dictionary(stored)->decompress(small, kLimit);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(*out, record(9));
}

TEST(Zstd, WhatIsNoDictionaryIsCorruption) {
  for (const Bytes& bytes : {Bytes(), Bytes::copy_of("not a dictionary"), test::noise(5000)}) {
    const auto dictionary = ZstdDictionary::prepare(bytes);
    ASSERT_FALSE(dictionary.ok());
    EXPECT_EQ(dictionary.error().code(), ErrorCode::corruption);
  }
  test::for_every_prefix(dictionary_bytes().view().first(64),
                         [](const Bytes& cut) { EXPECT_FALSE(ZstdDictionary::prepare(cut).ok()); });
}

TEST(Zstd, ADictionaryLevelOutsideTheRangeIsRefused) {
  const auto dictionary = ZstdDictionary::prepare(dictionary_bytes(), 100);
  ASSERT_FALSE(dictionary.ok());
  EXPECT_EQ(dictionary.error().code(), ErrorCode::invalid_argument);
}

TEST(Zstd, TooFewSamplesAreRefused) {
  const Bytes one = record(1);
  const std::vector<ByteView> samples = {one};
  for (const auto& given : {std::span<const ByteView>(samples), std::span<const ByteView>()}) {
    const auto dictionary = ZstdDictionary::train(given, 4096);
    ASSERT_FALSE(dictionary.ok());
    EXPECT_EQ(dictionary.error().code(), ErrorCode::invalid_argument);
  }
}

TEST(Zstd, DamageToAFrameWithADictionary) {
  const auto codec = with_dictionary(dictionary_bytes());
  const Bytes small = compressed(*codec, record(77));
  test::for_every_prefix(
      small, [&](const Bytes& cut) { EXPECT_FALSE(codec->decompress(cut, kLimit).ok()); });
  test::for_every_bit_flip(small, [&](const Bytes& flipped) {
    const auto out = codec->decompress(flipped, kLimit);
    EXPECT_TRUE(!out.ok() || out->size() <= kLimit);
  });
}

TEST(Zstd, ADictionaryIsSharedByThreads) {
  const auto codec = with_dictionary(dictionary_bytes());
  std::vector<std::thread> threads;
  std::vector<int> failure_counts(4, 0);
  for (std::size_t t = 0; t < failure_counts.size(); ++t) {
    threads.emplace_back([t, &codec, &failure_counts] {
      for (int round = 0; round < 200; ++round) {
        const Bytes in = record(round * 4 + static_cast<int>(t));
        ByteWriter out;
        if (!codec->compress(in, out)) ++failure_counts[t];
        const auto back = codec->decompress(out.view(), in.size());
        if (!back || *back != in) ++failure_counts[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failure_counts, std::vector<int>(4, 0));
}

// A frame written as a stream does not carry its size. One RLE block of 100,000 'a'.
Bytes frame_of_unknown_size() { return hex("28b52ffd 00 58 03350c 61"); }

TEST(Zstd, AFrameOfUnknownSizeGrowsUpToTheLimit) {
  const auto out = compression(CompressionId::zstd).decompress(frame_of_unknown_size(), 100'000);
  ASSERT_TRUE(out.ok()) << out.error().message();
  EXPECT_EQ(out->text(), std::string(100'000, 'a'));
  const test::AllocationWatch watch;
  const auto over = compression(CompressionId::zstd).decompress(frame_of_unknown_size(), 99'999);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().message(), "zstd: decodes to more than the limit of 99999 bytes");
  EXPECT_LE(watch.peak_size(), 101'000u);
}

TEST(Zstd, SkippableAndSecondFramesAreRefused) {
  const Bytes skippable = hex("502a4d18 04000000 01020304");
  EXPECT_FALSE(compression(CompressionId::zstd).decompress(skippable, kLimit).ok());
  ByteWriter two;
  ASSERT_TRUE(compression(CompressionId::zstd).compress(record(1), two).ok());
  ASSERT_TRUE(compression(CompressionId::zstd).compress(record(2), two).ok());
  const auto out = compression(CompressionId::zstd).decompress(two.view(), kLimit);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::corruption);
}

}  // namespace
}  // namespace varve
