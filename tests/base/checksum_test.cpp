#include "varve/checksum.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "support/golden.h"

namespace varve {
namespace {

const ByteView kCheck = as_byte_view("123456789");

TEST(Checksum, PublishedCheckValues) {
  EXPECT_EQ(crc8(kCheck), 0xf4);
  EXPECT_EQ(crc32(kCheck), 0xcbf43926u);
  EXPECT_EQ(crc32c(kCheck), 0xe3069283u);
  EXPECT_EQ(xxh32({}, 0), 0x02cc5d05u);
  EXPECT_EQ(xxh3({}, 0), 0x2d06800538d394c2u);
  EXPECT_EQ(xxh3_128({}), (Hash128{.high = 0x99aa06d3014798d8, .low = 0x6001c324468d497f}));
}

TEST(Checksum, EmptyInputLeavesThePreviousValue) {
  EXPECT_EQ(crc8({}, 0x5a), 0x5a);
  EXPECT_EQ(crc32({}, 0x12345678), 0x12345678u);
  EXPECT_EQ(crc32c({}, 0x12345678), 0x12345678u);
}

// Bit by bit, from the definition: the tuned code must agree for every length and
// alignment, where the wide paths and their tails meet.
std::uint32_t reflected_crc_by_definition(ByteView data, std::uint32_t polynomial) {
  std::uint32_t crc = ~0u;
  for (const std::byte b : data) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? polynomial : 0);
  }
  return ~crc;
}

TEST(Checksum, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  std::vector<std::byte> data(1200);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 151 ^ i >> 3);
  for (std::size_t start = 0; start < 17; ++start) {
    for (std::size_t size = 0; size + start <= data.size(); size += 1 + size / 24) {
      const ByteView part = ByteView(data).subspan(start, size);
      ASSERT_EQ(crc32(part), reflected_crc_by_definition(part, 0xedb88320)) << start << ' ' << size;
      ASSERT_EQ(crc32c(part), reflected_crc_by_definition(part, 0x82f63b78))
          << start << ' ' << size;
    }
  }
}

RC_GTEST_PROP(Checksum, PartsInARowGiveTheWhole, (const std::string& a, const std::string& b)) {
  const ByteView first = as_byte_view(a);
  const ByteView second = as_byte_view(b);
  const std::string joined = a + b;
  const ByteView whole = as_byte_view(joined);
  RC_ASSERT(crc8(second, crc8(first)) == crc8(whole));
  RC_ASSERT(crc32(second, crc32(first)) == crc32(whole));
  RC_ASSERT(crc32c(second, crc32c(first)) == crc32c(whole));
}

// docs of the pixel-world format: byte 21 is the crc8 of bytes 0..20.
TEST(Checksum, Crc8OfAPageTableEntryOfTheOriginalProgram) {
  VARVE_SHARED_OR_SKIP(entry, "golden/pxsw/pte.bin");
  ASSERT_EQ(entry.size(), 24u);
  EXPECT_EQ(crc8(entry.view().first(21)), std::to_integer<std::uint8_t>(entry.view()[21]));
}

// Magic, u32 version, u32 payload length, u32 crc32 of the payload, payload.
TEST(Checksum, Crc32OfAFileOfTheOriginalProgram) {
  VARVE_SHARED_OR_SKIP(file, "golden/polychora/a_empty/global.g0000000000000000.v4g");
  ASSERT_GT(file.size(), 16u);
  std::uint32_t stored = 0;
  for (int i = 3; i >= 0; --i) {
    stored = stored << 8 | std::to_integer<std::uint32_t>(file.view()[12 + i]);
  }
  EXPECT_EQ(crc32(file.view().subspan(16)), stored);
}

}  // namespace
}  // namespace varve
