#include "store/varve/save_keys.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve {
namespace {

using test::example_of;
using test::hex;
using test::to_hex;

constexpr const char* kPage = "varve_v1.md";
constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

// Those at which something happens: ends, signs and the borders of regions.
rc::Gen<std::int32_t> coordinate() {
  return rc::gen::oneOf(rc::gen::arbitrary<std::int32_t>(), rc::gen::inRange<std::int32_t>(-40, 40),
                        rc::gen::element(kMin, kMin + 1, kMin + 15, kMin + 16, kMax - 16, kMax - 1,
                                         kMax, -257, -256, -255, 255, 256));
}

rc::Gen<ChunkPos> position() {
  return rc::gen::exec([] {
    ChunkPos pos;
    pos.coordinate_count = *rc::gen::inRange<std::uint8_t>(1, 5);
    for (std::size_t i = 0; i < pos.coordinate_count; ++i) pos.coordinates[i] = *coordinate();
    return pos;
  });
}

std::string region_of(const SaveKey& key) {
  return std::string(as_text(key.view()).substr(0, key.view().size() - 1));
}

bool share_a_region(const ChunkPos& a, const ChunkPos& b) {
  if (a.coordinate_count != b.coordinate_count) return false;
  const auto bits = region_bits(a.coordinate_count);
  for (std::size_t i = 0; i < a.coordinate_count; ++i) {
    if (a[i] >> bits[i] != b[i] >> bits[i]) return false;
  }
  return true;
}

RC_GTEST_PROP(SaveKeys, APositionComesBack, ()) {
  const ChunkPos pos = *position();
  const auto space = *rc::gen::arbitrary<SpaceNumber>();
  const auto id = *rc::gen::arbitrary<EntityId>();
  const auto chunk = decode_chunk_key(chunk_key(space, pos));
  RC_ASSERT(chunk.ok());
  RC_ASSERT(chunk->space == space && chunk->pos == pos);
  const auto owned = decode_owned_entity_key(entity_key_of(PlacedChunk{space, pos}, id));
  RC_ASSERT(owned.ok());
  RC_ASSERT(owned->owner.space == space && owned->owner.pos == pos && owned->id == id);
  const auto place = decode_place(encode_place(PlacedChunk{space, pos}));
  RC_ASSERT(place.ok() && place->has_value());
  RC_ASSERT((*place)->space == space && (*place)->pos == pos);
  RC_ASSERT(decode_entity_key(entity_place_key(id)).value() == id);
  RC_ASSERT(decode_entity_key(entity_key_of(std::nullopt, id)).value() == id);
}

RC_GTEST_PROP(SaveKeys, OnlyTheLastByteDiffersInsideARegionAndRegionsStandTogether, ()) {
  const ChunkPos a = *position();
  ChunkPos b = a;
  // Often the same region, or the one beside it.
  for (std::size_t i = 0; i < b.coordinate_count; ++i) {
    const std::int64_t moved = std::int64_t{b[i]} + *rc::gen::inRange(-9, 10);
    b.coordinates[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(moved, kMin, kMax));
  }
  const SaveKey key_a = chunk_key(3, a);
  const SaveKey key_b = chunk_key(3, b);
  RC_ASSERT((region_of(key_a) == region_of(key_b)) == share_a_region(a, b));
  RC_ASSERT((to_hex(key_a) == to_hex(key_b)) == (a == b));
  if (!share_a_region(a, b)) {
    // By the first coordinate whose region differs.
    const auto bits = region_bits(a.coordinate_count);
    std::size_t i = 0;
    while (a[i] >> bits[i] == b[i] >> bits[i]) ++i;
    RC_ASSERT((as_text(key_a) < as_text(key_b)) == (a[i] < b[i]));
  }
}

RC_GTEST_PROP(SaveKeys, WhatDecodesEncodesTheSame, (const std::string& tail)) {
  const std::string key = "\x10" + tail;
  if (const auto chunk = decode_chunk_key(as_byte_view(key))) {
    RC_ASSERT(as_text(chunk_key(chunk->space, chunk->pos)) == key);
  }
  const std::string owned = "\x21" + tail;
  if (const auto decoded = decode_owned_entity_key(as_byte_view(owned))) {
    RC_ASSERT(as_text(entity_key_of(decoded->owner, decoded->id)) == owned);
  }
  const auto place = decode_place(as_byte_view(tail));
  if (place) RC_ASSERT(encode_place(*place).text() == tail);
}

TEST(SaveKeys, ARegionHas256ChunksWhateverTheNumberOfCoordinates) {
  for (std::uint8_t count = 1; count <= kCoordinateCountMax; ++count) {
    const auto bits = region_bits(count);
    int sum = 0;
    for (std::size_t i = 0; i < kCoordinateCountMax; ++i) {
      sum += bits[i];
      EXPECT_EQ(bits[i] > 0, i < count);
    }
    EXPECT_EQ(sum, 8);
    std::set<std::string> regions;
    std::set<std::string> keys;
    for (int local = 0; local < 256; ++local) {
      ChunkPos pos;
      pos.coordinate_count = count;
      int rest = local;
      for (std::size_t i = 0; i < count; ++i) {
        pos.coordinates[i] = -(1 << bits[i]) + (rest & ((1 << bits[i]) - 1));
        rest >>= bits[i];
      }
      keys.insert(to_hex(chunk_key(0, pos)));
      regions.insert(region_of(chunk_key(0, pos)));
    }
    EXPECT_EQ(keys.size(), 256u);
    EXPECT_EQ(regions.size(), 1u);
  }
}

TEST(SaveKeys, ThePageHasTheseBytes) {
  EXPECT_EQ(to_hex(header_key()), "01");
  EXPECT_EQ(to_hex(header_copy_key()), "f1");
  EXPECT_EQ(to_hex(chunk_key(0, ChunkPos(3, -2))), to_hex(example_of(kPage, "A chunk's key")));
  const PlacedChunk owner{2, ChunkPos(-9, 70, 5)};
  EXPECT_EQ(to_hex(entity_key_of(owner, 17)), to_hex(example_of(kPage, "An entity and its place")));
  EXPECT_EQ(to_hex(entity_place_key(17)), to_hex(example_of(kPage, "The key of a place")));
  EXPECT_EQ(to_hex(encode_place(owner)), to_hex(example_of(kPage, "What a place says")));
  EXPECT_EQ(to_hex(named_key(RecordKind::player, "ann")),
            to_hex(example_of(kPage, "A player's key")));
}

TEST(SaveKeys, NamesOf255BytesHaveKeysOf255Bytes) {
  const std::string longest(255, 'x');
  std::string other = longest;
  other.back() = 'y';
  for (const RecordKind kind : {RecordKind::player, RecordKind::global}) {
    const SaveKey key = named_key(kind, longest);
    EXPECT_EQ(key.view().size(), 255u);
    EXPECT_NE(to_hex(key), to_hex(named_key(kind, other)));
    EXPECT_EQ(named_key(kind, longest.substr(1)).view().size(), 255u);
    EXPECT_NE(to_hex(key), to_hex(named_key(kind, longest.substr(1))));
  }
  EXPECT_NE(to_hex(named_key(RecordKind::player, longest)),
            to_hex(named_key(RecordKind::global, longest)));
}

TEST(SaveKeys, EveryTruncationAndEveryExtensionIsCorruption) {
  const PlacedChunk owner{2, ChunkPos(1, -2, 3, -4)};
  const auto expect_refused = [](const Bytes& whole, auto decode) {
    ASSERT_TRUE(decode(whole.view()));
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const auto cut = decode(whole.view().first(size));
      ASSERT_FALSE(cut) << size;
      EXPECT_EQ(cut.error().code(), ErrorCode::corruption);
    }
    const Bytes longer = Bytes::copy_of(std::string(whole.text()) + '\0');
    EXPECT_FALSE(decode(longer.view()));
  };
  for (const ChunkPos& pos : {ChunkPos(1), ChunkPos(1, 2), ChunkPos(1, 2, 3), owner.pos}) {
    expect_refused(chunk_key(2, pos).copy(), decode_chunk_key);
    expect_refused(entity_key_of(PlacedChunk{2, pos}, 7).copy(), decode_owned_entity_key);
    expect_refused(encode_place(PlacedChunk{2, pos}), decode_place);
  }
  expect_refused(entity_place_key(7).copy(), decode_entity_key);
  expect_refused(space_key(7).copy(), [](ByteView key) { return decode_number_key(key, 2); });
  expect_refused(generator_key(7).copy(), [](ByteView key) { return decode_number_key(key, 4); });
}

TEST(SaveKeys, HostilePositionsAreCorruption) {
  // No coordinates, five of them, and regions no chunk is in.
  for (const std::string_view key :
       {"10 0000 00 00", "10 0000 05 80000000 80000000 80000000 80000000 80000000 00",
        "10 0000 02 ffffffff 80000000 00", "10 0000 02 00000000 80000000 00",
        "10 0000 01 80800000 00", "10 0000 01 7f7fffff ff", "10 0000 ff 80000000 00"}) {
    const auto decoded = decode_chunk_key(hex(key));
    ASSERT_FALSE(decoded) << key;
    EXPECT_EQ(decoded.error().code(), ErrorCode::corruption);
  }
  EXPECT_TRUE(decode_chunk_key(hex("10 0000 01 807fffff ff")));
  EXPECT_EQ(decode_chunk_key(hex("10 0000 01 807fffff ff"))->pos, ChunkPos(kMax));
  EXPECT_EQ(decode_chunk_key(hex("10 0000 01 7f800000 00"))->pos, ChunkPos(kMin));
}

}  // namespace
}  // namespace varve
