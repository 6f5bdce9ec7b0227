#include "codec/lz4.h"

#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "sample_bytes.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/golden.h"

namespace varve {
namespace {

using test::hex;

const Compression& codec() { return compression(CompressionId::lz4); }

TEST(Lz4, TheRawSizeStandsInFront) {
  ByteWriter out;
  ASSERT_TRUE(codec().compress(as_byte_view("abc"), out).ok());
  EXPECT_EQ(test::to_hex(out.view()), "0300000030616263");
}

TEST(Lz4, ASizeTheBlockCannotReachIsRefusedBeforeAllocating) {
  // 16 bytes of block can be 4080 bytes at most; the header claims 1 GiB of a limit of 2.
  const Bytes in = hex("00000040 f0000102030405060708090a0b0c0d0e");
  const test::AllocationWatch watch;
  const auto out = codec().decompress(in, std::size_t{2} << 30);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::corruption);
  EXPECT_EQ(out.error().message(),
            "lz4: 16 bytes cannot decode to the 1073741824 the header claims");
  EXPECT_LE(watch.peak_size(), 4096u);
}

TEST(Lz4, ASizeThatIsNotTheBlocksIsCorruption) {
  for (const std::string_view size : {"02000000", "04000000", "00000000"}) {
    const auto out = codec().decompress(hex(std::string(size) + "30616263"), 100);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), ErrorCode::corruption);
  }
}

TEST(Lz4, AHeaderWithoutABlockIsCorruption) {
  EXPECT_FALSE(codec().decompress(hex("00000000"), 100).ok());
  EXPECT_FALSE(codec().decompress(hex("0000"), 100).ok());
  EXPECT_FALSE(codec().decompress({}, 100).ok());
}

TEST(Lz4, ABareBlockMustFillItsRoom) {
  const Bytes in = test::small_sample();
  ByteWriter out;
  ASSERT_TRUE(lz4_compress_block(in, 9, out).ok());
  for (const std::size_t size : {in.size() - 1, in.size(), in.size() + 1}) {
    Buffer back(size);
    EXPECT_EQ(lz4_decompress_block(out.view(), back.span()).ok(), size == in.size()) << size;
  }
}

TEST(Lz4, OffsetsBeforeTheStartAreCorruption) {
  // One literal, then a match 2 back where only 1 byte exists.
  EXPECT_FALSE(codec().decompress(hex("0d000000 12610200 60616161616161"), 100).ok());
}

TEST(Lz4, FilesOfTheOriginalPixelWorld) {
  VARVE_SHARED_OR_SKIP(thirteen, "golden/pxsw/lz4_13bytes.bin");
  VARVE_SHARED_OR_SKIP(empty, "golden/pxsw/lz4_empty.bin");
  VARVE_SHARED_OR_SKIP(text, "golden/pxsw/lz4_text.bin");
  VARVE_SHARED_OR_SKIP(raw_text, "golden/pxsw/lz4_text.raw");
  VARVE_SHARED_OR_SKIP(zero, "golden/pxsw/lz4_zero_1mib.bin");
  const auto expect_decodes = [](const Bytes& in, const Bytes& expected) {
    const auto out = codec().decompress(in, expected.size());
    ASSERT_TRUE(out.ok()) << out.error().message();
    EXPECT_EQ(*out, expected);
  };
  expect_decodes(thirteen, Bytes::copy_of("aaaaaaaaaaaaa"));
  expect_decodes(empty, Bytes());
  expect_decodes(text, raw_text);
  expect_decodes(zero, test::zeros(1 << 20));
}

// u32 count, then u24 position and u32 pixel each.
TEST(Lz4, ADeltaOfTheOriginalPixelWorld) {
  VARVE_SHARED_OR_SKIP(in, "golden/pxsw/delta4.bin");
  const auto raw = codec().decompress(in, 1 << 20);
  ASSERT_TRUE(raw.ok()) << raw.error().message();
  ByteReader r(*raw);
  ASSERT_EQ(r.u32_le(), 4u);
  const std::uint32_t positions[] = {0, 100, 50'000, 0x03ffff};
  const std::uint32_t pixels[] = {0x00000101, 0x00000202, 0x00000303, 0x20050404};
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t position = r.u24_le();
    const std::uint32_t pixel = r.u32_le();
    EXPECT_EQ(position, positions[i]) << i << ": " << test::to_hex(*raw);
    EXPECT_EQ(pixel, pixels[i]) << i << ": " << test::to_hex(*raw);
  }
  EXPECT_TRUE(r.finish("delta").ok());
}

TEST(Lz4, ChunksOfTheOriginalVoxelWorld) {
  for (const std::string name : {"nvck_air", "nvck_one_rle", "nvck_300types"}) {
    SCOPED_TRACE(name);
    VARVE_SHARED_OR_SKIP(chunk, "golden/nebula/" + name + ".chunk");
    VARVE_SHARED_OR_SKIP(
        raw, "golden/nebula/" + name + (name == "nvck_300types" ? "_raw16.bin" : ".bin"));
    const auto out = codec().decompress(chunk, 1 << 20);
    ASSERT_TRUE(out.ok()) << out.error().message();
    EXPECT_EQ(*out, raw);
  }
}

}  // namespace
}  // namespace varve
