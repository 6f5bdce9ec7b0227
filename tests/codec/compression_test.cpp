// What holds for every compression alike. Each one's own file has the rest.
#include "codec/compression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <new>
#include <thread>
#include <vector>

#include "damage.h"
#include "sample_bytes.h"
#include "support/allocation_watch.h"

namespace varve {
namespace {

using test::AllocationWatch;

constexpr std::size_t kLimit = 1 << 20;
// Error messages, the shared block's header and the allocator's rounding, which is up to
// whole pages for large blocks.
constexpr std::size_t kSlack = 2 * 4096;

Bytes compressed(const Compression& codec, ByteView in) {
  ByteWriter out;
  EXPECT_TRUE(codec.compress(in, out).ok());
  return out.take();
}

TEST(Compression, IdsAndNamesNeverChange) {
  // On disk for ever: a change here is a change of every save.
  const std::vector<std::string_view> names = {"none", "lz4", "zstd", "zlib", "gzip", "deflate"};
  ASSERT_EQ(all_compressions().size(), names.size());
  for (std::size_t id = 0; id < names.size(); ++id) {
    const Compression* codec = find_compression(static_cast<std::uint8_t>(id));
    ASSERT_NE(codec, nullptr);
    EXPECT_EQ(static_cast<std::size_t>(codec->id()), id);
    EXPECT_EQ(codec->name(), names[id]);
    EXPECT_EQ(find_compression(names[id]), codec);
    EXPECT_EQ(all_compressions()[id], codec);
    EXPECT_EQ(&compression(codec->id()), codec);
  }
}

TEST(Compression, UnknownIdOrNameIsNotFound) {
  EXPECT_EQ(find_compression(std::uint8_t{6}), nullptr);
  EXPECT_EQ(find_compression(std::uint8_t{255}), nullptr);
  EXPECT_EQ(find_compression("brotli"), nullptr);
  EXPECT_EQ(find_compression(""), nullptr);
}

RC_GTEST_PROP(Compression, RoundTripOfAnything, ()) {
  const std::string text = *test::compressible_text();
  for (const Compression* codec : all_compressions()) {
    const Bytes small = compressed(*codec, as_byte_view(text));
    const auto back = codec->decompress(small, text.size());
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->text() == text);
  }
}

TEST(Compression, EmptyAndIncompressibleAndLarge) {
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    for (const Bytes& in : {Bytes(), test::noise(1), test::noise(100'000), test::zeros(3 << 20)}) {
      const auto back = codec->decompress(compressed(*codec, in), in.size());
      ASSERT_TRUE(back.ok()) << back.error().message();
      EXPECT_EQ(*back, in);
    }
  }
}

TEST(Compression, AppendsAfterWhatIsThere) {
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    ByteWriter out;
    out.text("head");
    ASSERT_TRUE(codec->compress(as_byte_view("payload"), out).ok());
    EXPECT_EQ(as_text(out.view().first(4)), "head");
    const auto back = codec->decompress(out.view().subspan(4), 7);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->text(), "payload");
  }
}

TEST(Compression, AWriterThatIsFullIsAnErrorAndKeepsWhatItHad) {
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    ByteWriter out(10);
    out.text("head");
    const Status status = codec->compress(test::noise(100), out);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(as_text(out.view()), "head");
  }
}

TEST(Compression, EveryLevelIsReadByTheDefault) {
  const Bytes in = test::small_sample();
  for (const Compression* codec : all_compressions()) {
    const LevelRange levels = compression_levels(codec->id());
    for (int level = levels.min; level <= levels.max; ++level) {
      SCOPED_TRACE(std::string(codec->name()) + " level " + std::to_string(level));
      const auto made = make_compression(codec->id(), level);
      ASSERT_TRUE(made.ok());
      EXPECT_EQ((*made)->id(), codec->id());
      const auto back = codec->decompress(compressed(**made, in), in.size());
      ASSERT_TRUE(back.ok());
      EXPECT_EQ(*back, in);
    }
    for (const int level : {levels.min - 1, levels.max + 1}) {
      const auto made = make_compression(codec->id(), level);
      ASSERT_FALSE(made.ok());
      EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument);
    }
  }
}

TEST(Compression, TheLimitIsExactAndNamed) {
  const Bytes in = test::small_sample();
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    const Bytes small = compressed(*codec, in);
    EXPECT_TRUE(codec->decompress(small, in.size()).ok());
    for (const std::size_t limit : {in.size() - 1, std::size_t{1}, std::size_t{0}}) {
      const auto over = codec->decompress(small, limit);
      ASSERT_FALSE(over.ok());
      EXPECT_EQ(over.error().code(), ErrorCode::corruption);
      EXPECT_EQ(over.error().message(), std::string(codec->name()) +
                                            ": decodes to more than the limit of " +
                                            std::to_string(limit) + " bytes");
    }
  }
}

TEST(Compression, ABombCostsNoMoreThanTheLimit) {
  const Bytes bomb = test::zeros(64 << 20);
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    const Bytes small = compressed(*codec, bomb);
    const AllocationWatch watch;
    EXPECT_FALSE(codec->decompress(small, kLimit).ok());
    EXPECT_LE(watch.peak_size(), kLimit + kSlack);
  }
}

TEST(Compression, EveryTruncationIsCorruption) {
  for (const Compression* codec : all_compressions()) {
    if (codec->id() == CompressionId::none) continue;  // Any bytes are valid there.
    SCOPED_TRACE(codec->name());
    test::for_every_prefix(compressed(*codec, test::small_sample()), [&](const Bytes& cut) {
      const auto out = codec->decompress(cut, kLimit);
      ASSERT_FALSE(out.ok());
      EXPECT_EQ(out.error().code(), ErrorCode::corruption);
    });
  }
}

TEST(Compression, ABitFlipIsAnErrorOrStaysWithinTheLimit) {
  const Bytes in = test::small_sample();
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    const bool is_checksummed =
        codec->id() == CompressionId::zlib || codec->id() == CompressionId::gzip;
    test::for_every_bit_flip(compressed(*codec, in), [&](const Bytes& flipped) {
      const AllocationWatch watch;
      const auto out = codec->decompress(flipped, kLimit);
      EXPECT_LE(watch.peak_size(), kLimit + kSlack);
      if (!out.ok()) return;
      EXPECT_LE(out->size(), kLimit);
      // Of a gzip header, time and system are not covered, and change nothing.
      if (is_checksummed) {
        EXPECT_EQ(*out, in);
      }
    });
  }
}

TEST(Compression, BytesLeftOverAreCorruption) {
  for (const Compression* codec : all_compressions()) {
    if (codec->id() == CompressionId::none) continue;
    SCOPED_TRACE(codec->name());
    for (const std::string_view tail : {std::string_view("\0", 1), std::string_view("garbage")}) {
      ByteWriter out;
      ASSERT_TRUE(codec->compress(test::small_sample(), out).ok());
      out.text(tail);
      const auto back = codec->decompress(out.view(), kLimit);
      ASSERT_FALSE(back.ok());
      EXPECT_EQ(back.error().code(), ErrorCode::corruption);
    }
  }
}

TEST(Compression, AReusedBufferKeepsItsBlock) {
  const Bytes large = test::noise(10'000);
  const Bytes small = test::small_sample();
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    Buffer out;
    ASSERT_TRUE(codec->decompress_into(compressed(*codec, large), kLimit, out).ok());
    EXPECT_TRUE(equal(out.view(), large));
    const std::byte* const block = out.data();
    ASSERT_TRUE(codec->decompress_into(compressed(*codec, small), kLimit, out).ok());
    EXPECT_TRUE(equal(out.view(), small));
    EXPECT_EQ(out.data(), block);
  }
}

TEST(Compression, DecodedBytesCarryLittleSlack) {
  // A cache that counts sizes must not hold several times as much.
  // Noise is what the guesses of a decoder are furthest from.
  const Bytes in = test::noise(50'000);
  for (const Compression* codec : all_compressions()) {
    SCOPED_TRACE(codec->name());
    const Bytes small = compressed(*codec, in);
    const AllocationWatch watch;
    const auto back = codec->decompress(small, kLimit);
    ASSERT_TRUE(back.ok());
    EXPECT_LE(watch.live_size(), in.size() * 2 + kSlack);
  }
}

TEST(Compression, DecodingTakesNoMoreThanTheLimit) {
  // Where the room for the output and a copy of it without slack do not both fit.
  for (const Bytes& in : {test::noise(50'000), test::zeros(50'000)}) {
    for (const Compression* codec : all_compressions()) {
      const Bytes small = compressed(*codec, in);
      for (std::size_t limit = in.size(); limit <= 3 * in.size(); limit += in.size() / 20) {
        SCOPED_TRACE(std::string(codec->name()) + " with a limit of " + std::to_string(limit));
        const AllocationWatch watch;
        const auto back = codec->decompress(small, limit);
        EXPECT_LE(watch.peak_size(), limit + kSlack);
        ASSERT_TRUE(back.ok()) << back.error().message();
        EXPECT_EQ(*back, in);
      }
    }
  }
}

TEST(Compression, EvenATinyLimitIsKept) {
  for (std::size_t size = 0; size < 80; ++size) {
    const Bytes in = test::zeros(size);
    for (const Compression* codec : all_compressions()) {
      SCOPED_TRACE(std::string(codec->name()) + " of " + std::to_string(size));
      Buffer out;
      ASSERT_TRUE(codec->decompress_into(compressed(*codec, in), size, out).ok());
      EXPECT_TRUE(equal(out.view(), in));
      EXPECT_LE(out.capacity(), size);
    }
  }
}

// Whether compressing ran out of memory, with every allocation from `index` on failing.
// In a thread of its own, whose working memory has yet to be made.
bool runs_out_of_memory(const Compression& codec, ByteView in, std::size_t index, Bytes& left) {
  bool ran_out = false;
  std::thread([&] {
    ByteWriter out;
    out.text("head");
    try {
      const test::AllocationFailure failure(index);
      EXPECT_TRUE(codec.compress(in, out).ok());
    } catch (const std::bad_alloc&) {
      ran_out = true;
    }
    left = Bytes::copy_of(out.view());
  }).join();
  return ran_out;
}

TEST(Compression, RunningOutOfMemoryKeepsWhatTheWriterHad) {
  const Bytes in = test::noise(1000);
  for (const Compression* standard : all_compressions()) {
    const auto codec = make_compression(standard->id(), compression_levels(standard->id()).max);
    ASSERT_TRUE(codec.ok());
    SCOPED_TRACE(standard->name());
    Bytes left;
    std::size_t index = 0;
    for (; runs_out_of_memory(**codec, in, index, left); ++index) {
      EXPECT_EQ(left.text(), "head") << "allocation " << index;
    }
    EXPECT_GT(index, 0u) << "nothing was allocated";
  }
}

TEST(Compression, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> failure_counts(4, 0);
  for (std::size_t t = 0; t < failure_counts.size(); ++t) {
    threads.emplace_back([t, &failure_counts] {
      for (std::size_t round = 0; round < 20; ++round) {
        const Bytes in = test::noise(1000 + 100 * t + round);
        for (const Compression* codec : all_compressions()) {
          ByteWriter out;
          if (!codec->compress(in, out)) ++failure_counts[t];
          const auto back = codec->decompress(out.view(), in.size());
          if (!back || *back != in) ++failure_counts[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failure_counts, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace varve
