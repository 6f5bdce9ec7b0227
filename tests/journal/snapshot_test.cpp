#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../codec/damage.h"
#include "base/endian.h"
#include "model_world.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/format_page.h"
#include "varve/checksum.h"
#include "varve/entity_state.h"

namespace varve {
namespace {

using test::hex;
using test::to_hex;

constexpr std::size_t kHeaderSize = 33;
constexpr std::size_t kChecksumOffset = 29;

Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }

// As on the page.
EntityState sample() {
  EntityState state;
  TickRecorder recorder;
  recorder.spawn(make_entity(1, 0), ChunkPos(3, -2));
  recorder.insert(make_entity(1, 0), 1, bytes("xyz"));
  recorder.insert(make_entity(1, 0), 4, {});
  recorder.spawn(make_entity(2, 5));
  recorder.spawn(make_entity(3, 1));
  recorder.despawn(make_entity(3, 1));
  recorder.set_singleton(2, bytes("noon"));
  recorder.put_player("ann", bytes("hp"));
  recorder.put_global("seed", hex("2a"));
  EXPECT_TRUE(state.apply(recorder.take()));
  return state;
}

// With the checksum made to fit.
Bytes mended(Buffer snapshot) {
  store_le<std::uint32_t>(snapshot.data() + kChecksumOffset, 0);
  store_le<std::uint32_t>(snapshot.data() + kChecksumOffset, crc32(snapshot.view()));
  return std::move(snapshot).freeze();
}

void expect_corruption(const Bytes& snapshot, std::string_view why) {
  const auto decoded = decode_snapshot(snapshot);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code(), ErrorCode::corruption);
  EXPECT_NE(decoded.error().message().find(why), std::string::npos) << decoded.error().message();
}

TEST(Snapshot, TheExampleOfThePage) {
  const Bytes example = test::example_of("rgb_snapshot_v1.md", "A snapshot");
  EXPECT_EQ(to_hex(*encode_snapshot(1'200, sample())), to_hex(example));
  const Snapshot back = *decode_snapshot(example);
  EXPECT_EQ(back.tick, 1'200u);
  EXPECT_TRUE(back.state == sample());
}

TEST(Snapshot, AnEmptyStateComesBack) {
  const Snapshot back = *decode_snapshot(*encode_snapshot(0, EntityState()));
  EXPECT_TRUE(back.state == EntityState());
  EXPECT_EQ(back.state.digest(), EntityState().digest());
}

// What is recovered is the same state, the numbers it hands out and all that comes after included.
RC_GTEST_PROP(Snapshot, RecoveredIsTheSameState, (std::uint64_t seed)) {
  test::RandomGame game(seed);
  EntityState state;
  for (int i = 0; i < 6; ++i) RC_ASSERT(state.apply(game.play_tick(60)).ok());
  const Bytes encoded = encode_snapshot(seed, state).value();
  Snapshot back = decode_snapshot(encoded).value();
  RC_ASSERT(back.tick == seed);
  RC_ASSERT(back.state == state);
  RC_ASSERT(back.state.digest() == state.digest());
  RC_ASSERT(encode_snapshot(seed, back.state).value() == encoded);
  for (int i = 0; i < 4; ++i) {
    const TickMutations tick = game.play_tick(40);
    RC_ASSERT(state.apply(tick).ok());
    RC_ASSERT(back.state.apply(tick).ok());
  }
  RC_ASSERT(back.state == state);
  RC_ASSERT(test::difference(back.state, game.world()) == "");
}

TEST(Snapshot, EveryTruncationIsCorruption) {
  test::for_every_prefix(*encode_snapshot(7, sample()), [](const Bytes& cut) {
    const auto decoded = decode_snapshot(cut);
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().code(), ErrorCode::corruption);
    if (cut.size() < kHeaderSize) return;
    const auto in_spite_of_it = decode_snapshot(mended(cut.clone()));
    EXPECT_FALSE(in_spite_of_it.ok());
  });
}

TEST(Snapshot, EveryBitFlipIsCorruption) {
  test::for_every_bit_flip(*encode_snapshot(7, sample()), [](const Bytes& flipped) {
    const auto decoded = decode_snapshot(flipped);
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().code(), ErrorCode::corruption);
  });
}

TEST(Snapshot, ABitFlipUnderAGoodChecksumIsAnErrorOrAnotherSnapshot) {
  test::for_every_bit_flip(*encode_snapshot(7, sample()), [](const Bytes& flipped) {
    const Bytes snapshot = mended(flipped.clone());
    const test::AllocationWatch watch;
    const auto decoded = decode_snapshot(snapshot);
    EXPECT_LE(watch.peak_size(), 100'000u);
    if (!decoded) return;
    EXPECT_TRUE(*encode_snapshot(decoded->tick, decoded->state) == snapshot);
  });
}

TEST(Snapshot, ALaterVersionIsUnsupported) {
  Buffer later = encode_snapshot(7, sample())->clone();
  store_le<std::uint16_t>(later.data() + 7, 2);
  EXPECT_EQ(decode_snapshot(mended(std::move(later))).error().code(), ErrorCode::unsupported);
}

TEST(Snapshot, HostileCountsAllocateNothing) {
  for (const std::size_t offset : {std::size_t{17}, std::size_t{25}}) {
    Buffer hostile = encode_snapshot(7, sample())->clone();
    store_le<std::uint32_t>(hostile.data() + offset, 0xffff'fff0);
    const Bytes snapshot = mended(std::move(hostile));
    const test::AllocationWatch watch;
    expect_corruption(snapshot, "count larger");
    EXPECT_LE(watch.peak_size(), 20'000u);
  }
}

// The spatial index says again what the entities say.
TEST(Snapshot, ChunksThatDisagreeWithTheEntitiesAreCorruption) {
  const Bytes good = *encode_snapshot(7, sample());
  const std::string spatial("\x01\0\0\0", 4);
  const std::size_t at = good.text().find(spatial, kHeaderSize + 8);
  ASSERT_NE(at, std::string_view::npos);
  // u32 count, then 03 (space 0, two coordinates), 06 03, one entity, index 1, generation 0.
  ASSERT_EQ(to_hex(good.view().subspan(at, 9)), "010000000306030101");
  const auto changed = [&](std::size_t offset, int value) {
    Buffer copy = good.clone();
    copy.data()[at + offset] = static_cast<std::byte>(value);
    return mended(std::move(copy));
  };
  expect_corruption(changed(0, 0), "other chunks");
  expect_corruption(changed(5, 0x08), "other entities");
  expect_corruption(changed(8, 0x02), "other entities");
  expect_corruption(changed(9, 0x02), "other entities");
}

}  // namespace
}  // namespace varve
