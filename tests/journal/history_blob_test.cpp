// The index of a stretch as bytes: the page's example, and what becomes of damaged and hostile
// ones.
#include "journal/history_blob.h"

#include <gtest/gtest.h>

#include <iostream>

#include "../codec/damage.h"
#include "base/endian.h"
#include "model_world.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve::journal {
namespace {

constexpr Stretch kStretch{.first_tick = 1'200, .tick_count = 1'200};

// As on the page.
Touched sample() {
  Touched touched;
  TickRecorder recorder;
  recorder.edit_chunk(ChunkPos(3, -2), Bytes::copy_of("edit"));
  recorder.spawn(make_entity(7, 0));
  recorder.put_player("ann", Bytes::copy_of("hp"));
  touched.note(0, recorder.take());
  recorder.edit_chunk(ChunkPos(3, -2), Bytes::copy_of("edit"));
  recorder.edit_chunk(ChunkPos(1).in(*Space::named("sky")), Bytes::copy_of("edit"));
  recorder.insert(make_entity(7, 0), 1, Bytes::copy_of("value"));
  recorder.insert(make_entity(2, 5), 1, Bytes::copy_of("value"));
  recorder.set_singleton(3, Bytes::copy_of("noon"));
  touched.note(300, recorder.take());
  recorder.despawn(make_entity(7, 0));
  recorder.put_global("rain", std::nullopt);
  touched.note(1'199, recorder.take());
  return touched;
}

using Ticks = std::vector<std::uint64_t>;

Ticks ticks_of(const HistoryBlob& blob, const TouchedKey& key, const TickRange& range = {}) {
  Ticks found;
  EXPECT_TRUE(blob.ticks_of(key, range, found));
  return found;
}

TEST(HistoryBlob, TheExampleOfThePage) {
  const Bytes made = encode_history(kStretch, sample()).value();
  const Bytes example = test::example_of("history_index_v1.md", "An index");
  EXPECT_EQ(test::to_hex(made), test::to_hex(example));
  const HistoryBlob blob = HistoryBlob::open(example, kStretch).value();
  ASSERT_TRUE(blob.check());
  const auto entity = [](EntityId id) { return TouchedKey{.kind = TouchedKind::entity, .id = id}; };
  EXPECT_EQ(ticks_of(blob, entity(7)), (Ticks{1'200, 1'500, 2'399}));
  EXPECT_EQ(ticks_of(blob, entity(7), {1'201, 2'399}), (Ticks{1'500}));
  EXPECT_EQ(ticks_of(blob, entity(make_entity(2, 5))), (Ticks{1'500}));
  EXPECT_EQ(ticks_of(blob, entity(8)), Ticks());
  EXPECT_EQ(ticks_of(blob, {.kind = TouchedKind::chunk, .pos = ChunkPos(3, -2)}),
            (Ticks{1'200, 1'500}));
  EXPECT_EQ(ticks_of(blob, {.kind = TouchedKind::chunk, .pos = ChunkPos(3, -2, 0)}), Ticks());
  EXPECT_EQ(
      ticks_of(blob, {.kind = TouchedKind::chunk, .pos = ChunkPos(1).in(*Space::named("sky"))}),
      (Ticks{1'500}));
  EXPECT_EQ(
      ticks_of(blob, {.kind = TouchedKind::chunk, .pos = ChunkPos(1).in(*Space::named("sea"))}),
      Ticks());
  EXPECT_EQ(ticks_of(blob, {.kind = TouchedKind::player, .name = "ann"}), (Ticks{1'200}));
  EXPECT_EQ(ticks_of(blob, {.kind = TouchedKind::player, .name = "bob"}), Ticks());
  EXPECT_EQ(ticks_of(blob, {.kind = TouchedKind::global, .name = "rain"}), (Ticks{2'399}));
  EXPECT_EQ(ticks_of(blob, TouchedKey::of_singleton(3)), (Ticks{1'500}));
}

TEST(HistoryBlob, IsOfItsStretchAlone) {
  const Bytes made = encode_history(kStretch, sample()).value();
  EXPECT_EQ(HistoryBlob::open(made, {0, 1'200}).error().code(), ErrorCode::corruption);
  EXPECT_EQ(HistoryBlob::open(made, {1'200, 600}).error().code(), ErrorCode::corruption);
  Buffer later = made.clone();
  later.span()[4] = std::byte{2};
  EXPECT_EQ(HistoryBlob::open(std::move(later).freeze(), kStretch).error().code(),
            ErrorCode::unsupported);
}

TEST(HistoryBlob, OfNothingIsAHeadAlone) {
  const Bytes made = encode_history(kStretch, {}).value();
  EXPECT_EQ(made.size(), 56u);
  EXPECT_TRUE(HistoryBlob::open(made, kStretch).value().check());
}

TEST(HistoryBlob, EveryTruncationIsCorruption) {
  const Bytes made = encode_history(kStretch, sample()).value();
  test::for_every_prefix(made, [](const Bytes& cut) {
    const auto blob = HistoryBlob::open(cut, kStretch);
    ASSERT_FALSE(blob.ok());
    EXPECT_EQ(blob.error().code(), ErrorCode::corruption);
  });
}

// What is looked up is checked; what passes the check of everything is an index somebody could have
// written.
TEST(HistoryBlob, EveryFlippedBitIsCorruptionOrAnotherIndex) {
  const Bytes made = encode_history(kStretch, sample()).value();
  std::size_t accepted_count = 0;
  test::for_every_bit_flip(made, [&](const Bytes& flipped) {
    const auto blob = HistoryBlob::open(flipped, kStretch);
    if (!blob) return;
    Ticks found;
    for (std::size_t kind = 0; kind < kTouchedKindCount; ++kind) {
      const auto as_kind = static_cast<TouchedKind>(kind);
      for (std::size_t row = 0; row < blob->count(as_kind); ++row) {
        const auto key = blob->key_at(as_kind, row);
        if (key) (void)blob->ticks_of(*key, {}, found);
        (void)blob->ticks_at(as_kind, row, {}, found);
      }
    }
    for (const std::uint64_t tick : found) {
      ASSERT_TRUE(tick >= 1'200 && tick < 2'400) << tick;
    }
    if (blob->check()) ++accepted_count;
  });
  EXPECT_GT(accepted_count, 0u) << "another entity, another tick";
  EXPECT_LT(accepted_count, made.size() * 8 / 2);
}

TEST(HistoryBlob, CountsAreNotBelievedBeforeTheirBytesAreThere) {
  // A list that says it has as many ticks as fit in a stretch.
  Buffer forged = encode_history({0, kStretchTicksMax}, sample()).value().clone();
  const std::size_t postings_size = load_le<std::uint32_t>(forged.data() + 52);
  std::byte* const first = forged.data() + forged.size() - postings_size;
  first[0] = first[1] = first[2] = std::byte{0xff};
  first[3] = std::byte{0x7f};
  const Bytes bytes = std::move(forged).freeze();
  const HistoryBlob blob = HistoryBlob::open(bytes, {0, kStretchTicksMax}).value();
  const test::AllocationWatch watch;
  Ticks found;
  EXPECT_FALSE(blob.ticks_at(TouchedKind::chunk, 0, {}, found));
  EXPECT_TRUE(found.empty());
  EXPECT_LT(watch.peak_size(), 4'096u);
}

TEST(HistoryBlob, TheLastStretchOfAllEndsWithTheLastTick) {
  const Stretch last{.first_tick = ~std::uint64_t{0} - 9, .tick_count = 1'200};
  Touched touched;
  TickRecorder recorder;
  recorder.spawn(1);
  touched.note(8, recorder.take());
  const HistoryBlob blob = HistoryBlob::open(encode_history(last, touched).value(), last).value();
  EXPECT_TRUE(blob.check());
  EXPECT_EQ(ticks_of(blob, {.kind = TouchedKind::entity, .id = 1}), (Ticks{~std::uint64_t{0} - 1}));
}

TEST(HistoryBlob, RandomTicksAreFoundAgain) {
  std::cout << "seeds 1 to 40\n";
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomGame game(seed);
    Touched touched;
    for (std::uint32_t tick = 0; tick < 200; tick += 1 + seed % 7) {
      touched.note(tick, game.play_tick(8));
    }
    const Bytes made = encode_history(kStretch, touched).value();
    const HistoryBlob blob = HistoryBlob::open(made, kStretch).value();
    ASSERT_TRUE(blob.check());
    const auto expect = [&](const TouchedKey& key, const Touched::Ticks& ticks) {
      Ticks expected;
      for (const std::uint32_t tick : ticks) expected.push_back(1'200 + tick);
      ASSERT_EQ(ticks_of(blob, key), expected);
    };
    for (const auto& [pos, ticks] : touched.chunks) expect({TouchedKind::chunk, pos, 0, {}}, ticks);
    for (const auto& [id, ticks] : touched.entities)
      expect({TouchedKind::entity, {}, id, {}}, ticks);
    for (const auto& [name, ticks] : touched.players)
      expect({TouchedKind::player, {}, 0, name}, ticks);
    for (const auto& [name, ticks] : touched.globals)
      expect({TouchedKind::global, {}, 0, name}, ticks);
    for (const auto& [id, ticks] : touched.singletons) expect(TouchedKey::of_singleton(id), ticks);
  }
}

}  // namespace
}  // namespace varve::journal
