// The bytes of references and counts.
#include "store/varve/shared_payload.h"

#include <gtest/gtest.h>

#include "sharing_sample.h"
#include "store/varve/payload.h"
#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr const char* kPage = "varve_v1.md";
const Hash128 kHash{.high = 0x0011223344556677, .low = 0x8899aabbccddeeff};

const SaveKey kKey = chunk_key(0, ChunkPos(3, -2));

Bytes sample_reference() {
  return encode_reference(kKey, plain_frame(kKey, noise_of(1)), kHash).value();
}

TEST(SharedPayload, ThePageHasTheseBytes) {
  EXPECT_EQ(to_hex(shared_payload_key(kHash)), to_hex(example_of(kPage, "A shared payload's key")));
  EXPECT_EQ(decode_shared_key(example_of(kPage, "A shared payload's key")).value(), kHash);
  const Bytes reference = example_of(kPage, "A reference");
  const auto decoded = decode_reference(kKey, reference, false);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->hash, kHash);
  EXPECT_EQ(decoded->payload_size, 1000u);
  // The recipe is the writer's own and may change.
  EXPECT_EQ(to_hex(sample_reference()).size(), to_hex(reference).size());
  EXPECT_EQ(to_hex(encode_shared_count(300)), to_hex(example_of(kPage, "A count")));
  EXPECT_EQ(decode_shared_count(example_of(kPage, "A count")).value(), 300u);
}

TEST(SharedPayload, AReferenceComesBackAndTellsItsSizeInListings) {
  for (const std::size_t size : {1u, 127u, 128u, 20'000u, 3'000'000u}) {
    const Bytes frame = plain_frame(kKey, noise_of(1, size));
    const Bytes reference = encode_reference(kKey, frame, kHash).value();
    EXPECT_LE(reference.size(), kReferenceSizeMax);
    EXPECT_TRUE(looks_like_reference(reference));
    EXPECT_FALSE(looks_like_reference(frame));
    const Reference decoded = decode_reference(kKey, reference, false).value();
    EXPECT_EQ(decoded.hash, kHash);
    EXPECT_EQ(decoded.payload_size, size);
    EXPECT_EQ(decoded.recipe, inspect_payload(frame)->recipe);
    EXPECT_EQ(inspect_payload(reference)->payload_size, size);
  }
}

TEST(SharedPayload, EveryOtherSizeOfAReferenceIsCorruption) {
  const Bytes whole = sample_reference();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    for (const bool is_verified : {false, true}) {
      const auto cut = decode_reference(kKey, whole.slice(0, size), is_verified);
      ASSERT_FALSE(cut) << size;
      EXPECT_EQ(cut.error().code(), ErrorCode::corruption) << size;
    }
  }
  const Bytes longer = sealed_for(kKey, Bytes::copy_of(std::string(whole.text()) + "x"));
  EXPECT_EQ(decode_reference(kKey, longer, false).error().code(), ErrorCode::corruption);
}

TEST(SharedPayload, EveryBitFlipOfAReferenceIsFoundAndSoIsAnotherKey) {
  const Bytes whole = sample_reference();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Buffer changed = whole.clone();
    changed.data()[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << bit % 8)};
    EXPECT_FALSE(decode_reference(kKey, changed.view(), false)) << bit;
  }
  EXPECT_FALSE(decode_reference(chunk_key(0, ChunkPos(3, -1)), whole, false));
}

TEST(SharedPayload, CountsThatCannotBeAreCorruption) {
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{300}, kSharedCountMax}) {
    EXPECT_EQ(decode_shared_count(encode_shared_count(count)).value(), count);
  }
  for (const std::uint64_t count : {std::uint64_t{0}, kSharedCountMax + 1, ~std::uint64_t{0}}) {
    EXPECT_EQ(decode_shared_count(encode_shared_count(count)).error().code(),
              ErrorCode::corruption);
  }
  for (const char* bad : {"", "8100", "0101", "ffffffffffffffffffff01"}) {
    EXPECT_EQ(decode_shared_count(hex(bad)).error().code(), ErrorCode::corruption) << bad;
  }
}

}  // namespace
}  // namespace varve
