#include "store/nebula/nvck.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "base/byte_writer.h"
#include "codec/compression.h"
#include "codec/damage.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/golden.h"

namespace varve::nebula {
namespace {

using test::hex;
using test::to_hex;

using Chunk = std::vector<VoxelType>;

Chunk filled_with(VoxelType type) { return Chunk(kCellCount, type); }

ConstCells cells_of(const Chunk& chunk) { return ConstCells(chunk.data(), kCellCount); }

Bytes encoded(const Chunk& chunk) { return encode_nvck(cells_of(chunk)); }

Result<Chunk> decoded(ByteView in) {
  Chunk out(kCellCount, 0xdead);
  const Status status = decode_nvck(in, Cells(out.data(), kCellCount));
  if (!status) return status.error();
  return out;
}

Chunk pattern(const std::function<std::size_t(std::size_t, std::size_t, std::size_t)>& at) {
  Chunk out(kCellCount);
  for (std::size_t i = 0; i < kCellCount; ++i)
    out[i] = static_cast<VoxelType>(at(i % 32, i / 32 % 32, i / 1024));
  return out;
}

void expect_refused(ByteView in, ErrorCode code, std::string_view why) {
  const auto chunk = decoded(in);
  ASSERT_FALSE(chunk.ok()) << to_hex(in.first(std::min<std::size_t>(in.size(), 40)));
  EXPECT_EQ(chunk.error().code(), code);
  EXPECT_NE(chunk.error().message().find(why), std::string::npos) << chunk.error().message();
}

void expect_corruption(std::string_view digits, std::string_view why) {
  expect_refused(hex(digits), ErrorCode::corruption, why);
}

// The format as it is told, one bit after the other. Only for packed bodies.
Bytes packed_slowly(std::uint8_t version, const std::vector<VoxelType>& palette, unsigned width,
                    const std::vector<std::size_t>& places) {
  ByteWriter out;
  out.text("NVCK");
  out.u8(version);
  if (version == 2) out.u8(0);
  out.u16_le(static_cast<std::uint16_t>(palette.size()));
  for (const VoxelType type : palette) out.u16_le(type);
  out.u8(static_cast<std::uint8_t>(width));
  std::vector<std::uint8_t> bits(places.size() * width / 8);
  for (std::size_t bit = 0; bit < places.size() * width; ++bit) {
    if (places[bit / width] >> bit % width & 1)
      bits[bit / 8] |= static_cast<std::uint8_t>(1u << bit % 8);
  }
  out.bytes(std::as_bytes(std::span(bits)));
  return out.take();
}

// --- The worked examples of docs/formats/nebula_v1.md --------------------------------

TEST(Nvck, AChunkOfAirIsElevenBytes) {
  const std::string air = "4e56434b 02 00 0100 0000 00";
  EXPECT_EQ(to_hex(encoded(filled_with(0))), to_hex(hex(air)));
  EXPECT_EQ(*decoded(hex(air)), filled_with(0));
}

TEST(Nvck, OneBlockInTheAirIsThreeRuns) {
  const std::string one =
      "4e56434b 02 01 0200 0000 0700 02"
      "03000000 410c 0000 0100 0100 be73 0000";
  Chunk chunk = filled_with(0);
  chunk[1 + 32 * 2 + 1024 * 3] = 7;
  EXPECT_EQ(to_hex(encoded(chunk)), to_hex(hex(one)));
  EXPECT_EQ(*decoded(hex(one)), chunk);
}

TEST(Nvck, TheFirstCellIsInTheLowestBits) {
  const Chunk chunk = pattern([](auto x, auto, auto) { return x % 4 * 100; });
  ByteWriter expected;
  expected.bytes(hex("4e56434b 02 00 0400 0000 6400 c800 2c01 02"));
  for (int i = 0; i < 8192; ++i) expected.u8(0xe4);
  EXPECT_TRUE(equal(encoded(chunk), expected.view()));
  EXPECT_TRUE(*decoded(expected.view()) == chunk);
}

TEST(Nvck, VersionOneHasNoFlags) {
  EXPECT_EQ(*decoded(hex("4e56434b 01 0100 0900 00")), filled_with(9));
}

// --- Reading -------------------------------------------------------------------------

TEST(Nvck, PackedCellsOfEveryWidthAndVersion) {
  std::mt19937 random(1);
  for (const std::uint8_t version : {1, 2}) {
    for (const unsigned width : {2u, 4u, 8u, 16u}) {
      // Also wider than the palette needs: it may have had more types once.
      for (const std::size_t type_count : {1, 2, 3, 4, 5, 16, 17, 256, 257, 30'000, 65'535}) {
        if (type_count > std::size_t{1} << width) continue;
        std::vector<VoxelType> palette(type_count);
        for (VoxelType& type : palette) type = static_cast<VoxelType>(random());
        std::vector<std::size_t> places(kCellCount);
        Chunk expected(kCellCount);
        for (std::size_t i = 0; i < kCellCount; ++i) {
          places[i] = random() % type_count;
          expected[i] = palette[places[i]];
        }
        const auto chunk = decoded(packed_slowly(version, palette, width, places));
        ASSERT_TRUE(chunk.ok()) << chunk.error().message();
        EXPECT_TRUE(*chunk == expected) << int{version} << ' ' << width << ' ' << type_count;
      }
    }
  }
}

TEST(Nvck, RunsOfOneTypeInARowAndAnyWidthAreRead) {
  for (const char* width : {"02", "04", "08", "10"}) {
    const std::string digits = std::string("4e56434b 02 01 0200 0100 0200") + width +
                               "03000000 0040 0000 0020 0000 0020 0100";
    Chunk expected = filled_with(1);
    std::fill(expected.begin() + 0x6000, expected.end(), 2);
    EXPECT_EQ(*decoded(hex(digits)), expected);
  }
  EXPECT_EQ(*decoded(hex("4e56434b 02 01 0100 0500 00 01000000 0080 0000")), filled_with(5));
}

TEST(Nvck, APaletteMayNameATypeTwice) {
  EXPECT_EQ(*decoded(hex("4e56434b 02 01 0200 0500 0500 02 02000000 0040 0000 0040 0100")),
            filled_with(5));
}

TEST(Nvck, ABadHeaderIsCorruption) {
  expect_corruption("", "short read at offset 0");
  expect_corruption("4e56434c 02 00 0100 0000 00", "wrong magic");
  expect_corruption("4e56434b 00 00 0100 0000 00", "version 0");
  expect_corruption("4e56434b 02 02 0100 0000 00", "unknown flags 0x02 at offset 5");
  expect_corruption("4e56434b 02 81 0100 0000 00", "unknown flags 0x81");
  expect_corruption("4e56434b 02 00 0000 00", "the palette is empty");
  expect_corruption("4e56434b 01 0000 00", "the palette is empty");
  expect_corruption("4e56434b 02 00 ffff 0000 00", "short read");
  for (const char* width : {"01", "03", "05", "20", "ff"}) {
    expect_corruption(std::string("4e56434b 02 00 0100 0000") + width, "at offset 10, expected 0");
  }
  expect_corruption("4e56434b 02 00 0200 0000 0100 00",
                    "bit width 0 at offset 12 is too narrow for a palette of 2");
  expect_corruption("4e56434b 02 01 0500 0000 0100 0200 0300 0400 02 01000000 0080 0000",
                    "too narrow for a palette of 5");
  expect_corruption("4e56434b 02 00 0100 0000 00 00", "unexpected bytes after the end");
}

TEST(Nvck, AVersionFromTheFutureIsUnsupported) {
  for (const char* version : {"03", "ff"}) {
    expect_refused(hex(std::string("4e56434b") + version), ErrorCode::unsupported, "version");
  }
}

TEST(Nvck, BadRunsAreCorruption) {
  const std::string two = "4e56434b 02 01 0200 0000 0700 02";
  expect_corruption(two, "short read");
  expect_corruption(two + "00000000", "the runs have 0 of 32768 cells");
  expect_corruption(two + "01000000 ff7f 0000", "the runs have 32767 of 32768 cells");
  expect_corruption(two + "01000000 0180 0000", "ends at cell 32769 of 32768");
  expect_corruption(two + "02000000 0080 0000 0100 0000", "ends at cell 32769 of 32768");
  expect_corruption(two + "02000000 0080 0000 0000 0000", "empty run at offset 21");
  expect_corruption(two + "02000000 0040 0000 0040 0200",
                    "place 2 in a palette of 2 types, at offset 23");
  expect_corruption(two + "02000000 0080 0000", "count larger than the bytes that follow");
  expect_corruption(two + "ffffffff 0080 0000", "count larger than the bytes that follow");
  expect_corruption(two + "01000000 0080 0000 00", "unexpected bytes after the end");
}

TEST(Nvck, APlaceOutsideThePaletteIsCorruption) {
  for (const unsigned width : {2u, 4u, 8u, 16u}) {
    for (const std::size_t cell : {0, 1, 5, 31, 1000, 32767}) {
      std::vector<std::size_t> places(kCellCount, 1);
      places[cell] = 3;
      const std::size_t offset = 8 + 3 * 2 + 1 + cell * width / 8;
      expect_refused(packed_slowly(2, {7, 8, 9}, width, places), ErrorCode::corruption,
                     "place 3 in a palette of 3 types, at offset " + std::to_string(offset));
    }
  }
}

TEST(Nvck, RefusalsAllocateNoMoreThanAMessage) {
  std::vector<std::size_t> places(kCellCount, 3);
  const Bytes bad = packed_slowly(2, {7, 8, 9}, 2, places);
  Chunk out(kCellCount);
  const test::AllocationWatch watch;
  EXPECT_FALSE(decode_nvck(bad, Cells(out.data(), kCellCount)).ok());
  EXPECT_FALSE(
      decode_nvck(hex("4e56434b 02 01 0100 0500 00 ffffffff"), Cells(out.data(), kCellCount)).ok());
  EXPECT_LT(watch.peak_size(), 2000u);
}

// --- Writing -------------------------------------------------------------------------

TEST(Nvck, TheWidthGoesByTheNumberOfTypes) {
  for (const auto& [type_count, width] : std::vector<std::pair<std::size_t, std::size_t>>{
           {2, 2}, {4, 2}, {5, 4}, {16, 4}, {17, 8}, {256, 8}, {257, 16}, {32'768, 16}}) {
    const Chunk chunk = pattern(
        [&](auto x, auto y, auto z) { return 65'535 - (x + 32 * y + 1024 * z) % type_count; });
    const Bytes bytes = encoded(chunk);
    EXPECT_EQ(bytes.size(), 9 + 2 * type_count + 4096 * width);
    EXPECT_EQ(std::to_integer<std::size_t>(bytes.view()[8 + 2 * type_count]), width);
    EXPECT_EQ(bytes.view()[8], std::byte{0xff}) << "the type of the first cell comes first";
    EXPECT_TRUE(*decoded(bytes) == chunk) << type_count;
  }
}

TEST(Nvck, RunsAreWrittenOnlyWhereTheyAreStrictlySmaller) {
  // Packed, two types take 8192 bytes, as many as 2047 runs.
  for (const std::size_t run_count : {2046, 2047}) {
    Chunk chunk = filled_with(0);
    for (std::size_t i = 0; i < kCellCount; ++i) chunk[i] = std::min(i, run_count - 1) % 2;
    const Bytes bytes = encoded(chunk);
    const bool is_rle = run_count == 2046;
    EXPECT_EQ(bytes.view()[5], std::byte{is_rle});
    EXPECT_EQ(bytes.size(), 13 + (is_rle ? 4 + 4 * run_count : 8192));
    EXPECT_EQ(*decoded(bytes), chunk);
  }
}

TEST(Nvck, AnEncoderForgetsTheChunkBefore) {
  const auto encoder = std::make_unique<NvckEncoder>();
  std::mt19937 random(2);
  for (const std::size_t type_count : {40'000, 3, 1, 300, 2, 40'000, 1}) {
    Chunk chunk(kCellCount);
    for (VoxelType& type : chunk) type = static_cast<VoxelType>(random() % type_count);
    Buffer out(encoder->prepare(cells_of(chunk)));
    encoder->write(out.span());
    EXPECT_TRUE(equal(out.view(), encoded(chunk))) << type_count;
  }
}

RC_GTEST_PROP(Nvck, WhatIsWrittenIsRead, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  const std::size_t type_count = std::size_t{1} << random() % 17;
  const std::size_t run_max = std::size_t{1} << random() % 12;
  Chunk chunk(kCellCount);
  for (std::size_t i = 0; i < kCellCount;) {
    const auto type = static_cast<VoxelType>(random() % type_count);
    for (std::size_t left = 1 + random() % run_max; left > 0 && i < kCellCount; --left)
      chunk[i++] = type;
  }
  const Bytes bytes = encoded(chunk);
  RC_ASSERT(decoded(bytes).value() == chunk);
  // Every type has its place, once.
  Chunk types = chunk;
  std::sort(types.begin(), types.end());
  const auto distinct_count =
      static_cast<std::size_t>(std::unique(types.begin(), types.end()) - types.begin());
  const std::size_t palette_count = std::to_integer<std::size_t>(bytes.view()[6]) |
                                    std::to_integer<std::size_t>(bytes.view()[7]) << 8;
  RC_ASSERT(palette_count == distinct_count);
}

// --- Damage --------------------------------------------------------------------------

// Either refused, or a chunk that is written and read like any other.
void expect_consistent(ByteView damaged) {
  const auto chunk = decoded(damaged);
  if (!chunk) {
    EXPECT_FALSE(chunk.error().message().empty());
    return;
  }
  const auto again = decoded(encoded(*chunk));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == *chunk);
}

TEST(Nvck, EveryBitFlipIsRefusedOrReadsAsSomeChunk) {
  for (const char* digits :
       {"4e56434b 02 00 0100 0000 00",
        "4e56434b 02 01 0200 0000 0700 02 03000000 410c 0000 0100 0100 be73 0000",
        "4e56434b 01 0100 0900 00"}) {
    test::for_every_bit_flip(hex(digits), expect_consistent);
  }
}

TEST(Nvck, EveryTruncationIsCorruption) {
  const auto refused = [](const Bytes& cut) {
    EXPECT_EQ(decoded(cut).error().code(), ErrorCode::corruption);
  };
  for (const char* digits :
       {"4e56434b 02 00 0100 0000 00",
        "4e56434b 02 01 0200 0000 0700 02 03000000 410c 0000 0100 0100 be73 0000",
        "4e56434b 01 0100 0900 00"}) {
    test::for_every_prefix(hex(digits), refused);
  }
  test::for_every_prefix(packed_slowly(1, {1, 2, 3}, 2, std::vector<std::size_t>(kCellCount, 1)),
                         refused);
}

// --- Files of the original -----------------------------------------------------------

class NvckGolden : public testing::TestWithParam<const char*> {
 protected:
  // The contents of a golden: of a .chunk what is compressed in it.
  std::optional<Bytes> contents() const {
    const std::string name = GetParam();
    const auto file = test::read_shared("golden/nebula/" + name);
    if (!file || !name.ends_with(".chunk")) return file;
    const auto plain = compression(CompressionId::lz4).decompress(*file, 1 << 20);
    EXPECT_TRUE(plain.ok());
    return plain.ok() ? std::optional(*plain) : std::nullopt;
  }
};

#define CONTENTS_OR_SKIP(var)                                                      \
  const auto var##_read = contents();                                              \
  if (!var##_read) GTEST_SKIP() << "golden/nebula/" << GetParam() << " is absent"; \
  const Bytes& var = *var##_read

TEST_P(NvckGolden, ReadsAndIsWrittenByteForByte) {
  CONTENTS_OR_SKIP(bytes);
  const auto chunk = decoded(bytes);
  ASSERT_TRUE(chunk.ok()) << chunk.error().message();
  EXPECT_TRUE(encoded(*chunk) == bytes);
}

TEST_P(NvckGolden, HasTheCellsItsNameTells) {
  CONTENTS_OR_SKIP(bytes);
  const auto chunk = decoded(bytes);
  ASSERT_TRUE(chunk.ok());
  const std::string_view name = GetParam();
  Chunk expected = filled_with(0);
  if (name.find("one_rle") != name.npos) expected[1 + 32 * 2 + 1024 * 3] = 7;
  if (name.find("_4types") != name.npos)
    expected = pattern([](auto x, auto y, auto z) { return (x + 3 * y + 7 * z) % 4 * 100; });
  if (name.find("_20types") != name.npos)
    expected = pattern([](auto x, auto y, auto z) { return (x + 3 * y + 7 * z) % 20; });
  if (name.find("_300types") != name.npos)
    expected = pattern([](auto x, auto y, auto z) { return (x + 32 * y + 7 * z) % 300; });
  EXPECT_TRUE(*chunk == expected);
}

TEST_P(NvckGolden, EveryTruncationIsCorruption) {
  CONTENTS_OR_SKIP(bytes);
  test::for_every_prefix(bytes, [](const Bytes& cut) {
    EXPECT_EQ(decoded(cut).error().code(), ErrorCode::corruption);
  });
}

TEST_P(NvckGolden, EveryBitFlipIsRefusedOrReadsAsSomeChunk) {
  CONTENTS_OR_SKIP(bytes);
  // Of large files the header and the first cells.
  const std::size_t flipped_size = std::min<std::size_t>(bytes.size(), 64);
  test::for_every_bit_flip(bytes.view().first(flipped_size), [&](const Bytes& flipped) {
    ByteWriter out;
    out.bytes(flipped);
    out.bytes(bytes.view().subspan(flipped_size));
    expect_consistent(out.take());
  });
}

INSTANTIATE_TEST_SUITE_P(Files, NvckGolden,
                         testing::Values("nvck_air.bin", "nvck_air.chunk", "nvck_one_rle.bin",
                                         "nvck_one_rle.chunk", "nvck_4types_raw2.bin",
                                         "nvck_20types_raw8.bin", "nvck_300types_raw16.bin",
                                         "nvck_300types.chunk"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace varve::nebula
