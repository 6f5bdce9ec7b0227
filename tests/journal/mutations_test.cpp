#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "../codec/damage.h"
#include "base/byte_writer.h"
#include "model_world.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/format_page.h"
#include "varve/tick.h"

namespace varve {
namespace {

using test::hex;
using test::to_hex;

Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }

constexpr std::string_view kPage = "rgb_wal_v1.md";

// As on the page.
TickMutations sample() {
  TickRecorder recorder;
  recorder.despawn(make_entity(4, 2));
  recorder.spawn(make_entity(7, 1), ChunkPos(3, -2));
  recorder.insert(make_entity(7, 1), 1, bytes("xyz"));
  recorder.insert(make_entity(5, 0), 1, bytes("abc"));
  recorder.insert(make_entity(6, 0), 1, bytes("abd"));
  recorder.remove(make_entity(5, 0), 2);
  recorder.move(make_entity(5, 0), std::nullopt);
  recorder.set_author("ann");
  recorder.edit_chunk(ChunkPos(3, -2), hex("0a000107"));
  recorder.set_author("");
  recorder.put_global("weather", bytes("rain"));
  return recorder.take();
}

TickMutations one_cell() {
  TickRecorder recorder;
  recorder.edit_chunk(ChunkPos(100, -2'000), hex("0a00010700000000"));
  return recorder.take();
}

// Something in every list, and values enough for planes.
TickMutations large() {
  TickRecorder recorder;
  recorder.spawn(make_entity(2, 0));
  recorder.despawn(make_entity(2, 0));
  for (std::uint32_t i = 0; i < 40; ++i) {
    if (i % 3 == 0) recorder.set_author(i % 2 == 0 ? "ann" : "");
    recorder.insert(make_entity(10 + i * 3, i % 5), 1, bytes("value" + std::to_string(i % 4)));
    if (i < 20) recorder.insert(make_entity(10 + i, 0), 0xffff'ffff, bytes(std::string(i, 'x')));
    if (i < 3) recorder.spawn(make_entity(200 + i, i), ChunkPos(1, 2, 3, 4));
    if (i < 3) recorder.insert(make_entity(200 + i, i), 9, {});
  }
  recorder.set_singleton(4, std::nullopt);
  recorder.set_singleton(5, bytes("five"));
  recorder.add_image(ChunkPos(1, 1).in(*Space::named("the_nether")), bytes("before"));
  recorder.add_image(ChunkPos(-1, 1), std::nullopt);
  recorder.put_chunk(ChunkPos(7), bytes("whole"));
  recorder.put_chunk(ChunkPos(0x7fff'ffff, -0x7fff'ffff - 1), std::nullopt);
  recorder.edit_chunk(ChunkPos(-0x7fff'ffff - 1, 0x7fff'ffff), bytes("e"));
  recorder.put_player("ann", bytes("player"));
  recorder.put_player("bob", std::nullopt);
  TickMutations tick = recorder.take();
  TickMutations more = sample();
  tick.despawns = more.despawns;
  tick.removals = more.removals;
  tick.moves = more.moves;
  tick.globals = more.globals;
  tick.entity_images = {{make_entity(5, 0), true, ChunkPos(3, -2), bytes("was")},
                        {make_entity(6, 0), true, std::nullopt, {}},
                        {make_entity(7, 1), false, std::nullopt, {}}};
  tick.player_images = {{"ann", bytes("poorer")}, {"bob", std::nullopt}};
  tick.global_images = {{"weather", bytes("sun")}};
  return tick;
}

// Entities far apart, and short runs of values that are alike.
TickMutations scattered(std::uint64_t seed, std::size_t count, unsigned gap_bits) {
  std::mt19937_64 random(seed);
  TickRecorder recorder;
  for (ComponentId component = 1; component <= 3; ++component) {
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < count; ++i) {
      index += random() % (std::uint64_t{1} << gap_bits) + (i == 0 ? 0 : 1);
      if (index > 0xffff'ffff) break;
      const std::uint64_t value = random() % (component == 3 ? ~std::uint64_t{0} : 300);
      ByteWriter out;
      out.u64_le(value);
      recorder.insert(make_entity(static_cast<std::uint32_t>(index), 0), component, out.take());
    }
    // Fewer in each.
    count = count / 3 + 1;
  }
  return recorder.take();
}

void expect_corruption(std::string_view digits, std::string_view why) {
  const auto decoded = decode_mutations(hex(digits));
  ASSERT_FALSE(decoded.ok()) << digits;
  EXPECT_EQ(decoded.error().code(), ErrorCode::corruption);
  EXPECT_NE(decoded.error().message().find(why), std::string::npos) << decoded.error().message();
}

TEST(Mutations, TheExampleOfThePage) {
  const Bytes example = test::example_of(kPage, "A tick");
  EXPECT_EQ(to_hex(*encode_mutations(sample())), to_hex(example));
  EXPECT_EQ(*decode_mutations(example), sample());
}

TEST(Mutations, ManyEntitiesAreBits) {
  TickRecorder recorder;
  for (std::uint32_t i = 1; i <= 8; ++i) recorder.insert(make_entity(40 * i, 0), 1, bytes("a"));
  const TickMutations tick = recorder.take();
  const Bytes example = test::example_of(kPage, "Many entities");
  EXPECT_EQ(to_hex(*encode_mutations(tick)), to_hex(example));
  EXPECT_EQ(*decode_mutations(example), tick);
}

// Logs of before have it, and keep it.
TEST(Mutations, Version1IsRead) {
  Buffer first = test::example_of(kPage, "A tick").clone();
  first.data()[0] = std::byte{1};
  EXPECT_EQ(*decode_mutations(std::move(first).freeze()), sample()) << "short lists are the same";
  TickRecorder recorder;
  for (std::uint32_t i = 1; i <= 8; ++i) recorder.insert(make_entity(40 * i, 0), 1, bytes("a"));
  EXPECT_EQ(*decode_mutations(hex("01 06 01 01 08 2828282828282828 01 02 6161616161616161")),
            recorder.take());
  for (std::uint32_t i = 1; i <= 16; ++i) recorder.insert(make_entity(40 * i, 0), 1, bytes("a"));
  EXPECT_EQ(*decode_mutations(hex("01 06 01 01 10 28282828282828282828282828282828 01 02 01 61")),
            recorder.take());
}

TEST(Mutations, AOneCellEditIsSmall) {
  const Bytes encoded = *encode_mutations(one_cell());
  EXPECT_EQ(to_hex(encoded), to_hex(test::example_of(kPage, "A one-cell edit")));
  EXPECT_LE(encoded.size(), 32u);
  TickMutations far = one_cell();
  far.edits[0].pos = ChunkPos(-30'000'000, 30'000'000, 20).in(*Space::named("the_end"));
  far.authors = {"steve"};
  far.edits[0].author = 1;
  EXPECT_LE(encode_mutations(far)->size(), 42u) << "wherever it is and whoever did it";
}

TEST(Mutations, ATickWithoutMutationsIsItsVersion) {
  EXPECT_EQ(to_hex(*encode_mutations({})), "02");
  EXPECT_TRUE(decode_mutations(hex("02"))->empty());
  EXPECT_TRUE(decode_mutations(hex("01"))->empty());
}

TEST(Mutations, EveryListComesBack) {
  const TickMutations tick = large();
  const Bytes encoded = *encode_mutations(tick);
  const TickMutations back = *decode_mutations(encoded);
  EXPECT_EQ(back, tick);
  EXPECT_EQ(to_hex(*encode_mutations(back)), to_hex(encoded));
}

TEST(Mutations, ValuesAreNotCopiedOneByOne) {
  const Bytes encoded = *encode_mutations(sample());
  const TickMutations back = *decode_mutations(encoded);
  EXPECT_GE(back.inserts[0].value.data(), encoded.data());
  EXPECT_LT(back.inserts[0].value.data(), encoded.data() + encoded.size());
}

RC_GTEST_PROP(Mutations, WhatIsEncodedIsDecoded, (std::uint64_t seed)) {
  test::RandomGame game(seed);
  for (int i = 0; i < 6; ++i) {
    const TickMutations tick = game.play_tick(1 + seed % 120);
    const Bytes encoded = encode_mutations(tick).value();
    const TickMutations back = decode_mutations(encoded).value();
    RC_ASSERT(back == tick);
    RC_ASSERT(encode_mutations(back).value() == encoded);
  }
}

RC_GTEST_PROP(Mutations, EntitiesFarApartComeBack, (std::uint64_t seed)) {
  for (const unsigned gap_bits : {0u, 3u, 5u, 6u, 8u, 13u, 20u, 27u, 31u}) {
    const TickMutations tick = scattered(seed, 1 + seed % 300, gap_bits);
    const Bytes encoded = encode_mutations(tick).value();
    const TickMutations back = decode_mutations(encoded).value();
    RC_ASSERT(back == tick);
    RC_ASSERT(encode_mutations(back).value() == encoded);
  }
}

// One far from the others would make bits of all of them.
TEST(Mutations, OneFarEntityDoesNotBlowUpTheOthers) {
  TickRecorder recorder;
  for (std::uint32_t i = 0; i < 100; ++i) recorder.despawn(make_entity(i, 0));
  recorder.despawn(make_entity(0xffff'ffff, 0));
  const TickMutations tick = recorder.take();
  const Bytes encoded = *encode_mutations(tick);
  EXPECT_LE(encoded.size(), 120u);
  EXPECT_EQ(*decode_mutations(encoded), tick);
}

TEST(Mutations, WhatIsOutOfOrderIsNotEncoded) {
  const auto expect_refused = [](const TickMutations& tick) {
    const auto encoded = encode_mutations(tick);
    ASSERT_FALSE(encoded.ok());
    EXPECT_EQ(encoded.error().code(), ErrorCode::invalid_argument);
  };
  const EntityId a = make_entity(1, 5);
  const EntityId b = make_entity(2, 0);
  expect_refused({.despawns = {{b, 0}, {a, 0}}});
  expect_refused({.passing = {a, a}});
  expect_refused({.spawns = {{.entity = b}, {.entity = a}}});
  expect_refused({.spawns = {{.entity = a, .components = {{2, {}}, {1, {}}}}}});
  expect_refused({.removals = {{a, 2, 0}, {a, 1, 0}}});
  expect_refused({.inserts = {{a, 1, {}, 0}, {a, 1, {}, 0}}});
  expect_refused({.moves = {{b, {}, 0}, {a, {}, 0}}});
  expect_refused({.singletons = {{2, {}, 0}, {2, {}, 0}}});
  expect_refused({.images = {{ChunkPos(2), {}}, {ChunkPos(1), {}}}});
  expect_refused(
      {.entity_images = {{make_entity(2, 0), true, {}, {}}, {make_entity(1, 0), true, {}, {}}}});
  expect_refused({.entity_images = {{make_entity(2, 0), false, ChunkPos(1), {}}}});
  expect_refused({.entity_images = {{make_entity(2, 0), false, {}, bytes("x")}}});
  expect_refused({.player_images = {{"b", {}}, {"a", {}}}});
  expect_refused({.global_images = {{"", {}}}});
  expect_refused({.puts = {{ChunkPos(1), {}, 0}, {ChunkPos(1), {}, 0}}});
  expect_refused({.edits = {{ChunkPos(2), {}, 0}, {ChunkPos(1), {}, 0}}});
  expect_refused({.players = {{"b", {}, 0}, {"a", {}, 0}}});
  expect_refused({.globals = {{"", {}, 0}}});
  expect_refused({.authors = {"idle"}});
  expect_refused({.despawns = {{a, 1}}});
  ChunkPos odd(1);
  odd.coordinates[2] = 7;
  expect_refused({.moves = {{a, odd, 0}}});
  odd.coordinate_count = 5;
  expect_refused({.moves = {{a, odd, 0}}});
}

TEST(Mutations, EveryRuleOfTheFormatIsChecked) {
  expect_corruption("", "short read");
  expect_corruption("00", "no version");
  EXPECT_EQ(decode_mutations(hex("03")).error().code(), ErrorCode::unsupported);
  expect_corruption("01 00", "do not rise");
  expect_corruption("01 11", "unknown section");
  expect_corruption("01 8e 01 04 01 00 01", "authors where there are none");
  // The last byte says how large the image is; of one that was not there it says so.
  std::string image = to_hex(
      *encode_mutations({.entity_images = {{make_entity(5, 0), true, ChunkPos(3, -2), {}}}}));
  image.back() = '1';
  expect_corruption(image, "was not there");
  expect_corruption("01 02 00", "a list of nothing");
  expect_corruption("01 02 01 04 03 02 01 04 03", "do not rise");
  expect_corruption("01 02 02 04 00 01", "entities that do not rise");
  expect_corruption("01 02 02 04 01 00 01 01", "equal numbers, one by one");
  expect_corruption("01 02 02 ffffffff0f 01 01", "an index above its limit");
  expect_corruption("01 02 01 8400 03", "longer than needed");
  expect_corruption("01 83 01 04 01", "authors where there are none");
  expect_corruption("01 82 01 04 01 01 00", "without an author");
  expect_corruption("01 82 01 04 01 01 01", "varint above its limit");
  expect_corruption("01 01 01 01 61", "done nothing");
  expect_corruption("01 01 02 01 62 01 61", "authors that do not rise");
  expect_corruption("01 01 01 01 07", "a bad name");
  expect_corruption("01 05 00", "a list of nothing");
  expect_corruption("01 06 00", "a list of nothing");
  expect_corruption("01 06 02 ffffffff0f 01 01 01 01 00 01 01 01 01",
                    "a component above its limit");
  expect_corruption("01 04 01 05 01 00 01 00 01 01 01 01", "a component of no spawn");
  expect_corruption("01 07 01 05 01 01", "nowhere, as before");
  expect_corruption("01 07 02 05 01 01 03 00 02 02 03 02 02", "the one before");
  expect_corruption("01 07 01 05 01 06 00", "varint above its limit");
  expect_corruption("01 07 02 05 01 01 02 00 02 06 00 02", "two numbers");
  expect_corruption("01 0b 01 00 01", "a chunk that is nowhere");
  expect_corruption("01 0b 01 02 00 ffffffff1f 01", "a coordinate above its limit");
  expect_corruption("01 0b 02 02 00 04 00 01 01", "chunks that do not rise");
  expect_corruption("01 0a 02 02 00 04 00 00 01", "chunks that do not rise");
  expect_corruption("01 0c 02 01 62 01 61 01", "names that do not rise");
}

TEST(Mutations, EveryRuleOfPackedListsIsChecked) {
  expect_corruption("02 02 00", "a list of nothing");
  expect_corruption("02 02 02 04 00 01", "entities that do not rise");
  const std::string_view gaps = "a1 50 28 14 0a 85 42";
  const auto despawns = [](std::string_view rest) { return "02 02 08 " + std::string(rest); };
  EXPECT_TRUE(decode_mutations(hex(despawns("05" + std::string(gaps) + "01"))).ok());
  expect_corruption(despawns("05" + std::string(gaps)), "short varint");
  expect_corruption(despawns("00 2828282828282828 01"), "gaps in another spelling");
  expect_corruption(despawns("04" + std::string(gaps) + "01"), "gaps of no width");
  expect_corruption(despawns("20" + std::string(gaps) + "01"), "gaps of no width");
  expect_corruption(despawns("06" + std::string(gaps) + "01"), "gaps in another spelling");
  // More ones than there are indexes, and than there are bytes.
  expect_corruption(despawns("1f ffffffffffffffff 01"), "an index above its limit");
  expect_corruption(despawns("05 ffffffffffffffff"), "short read");
  // Bits behind the last gap: 7 gaps of 40 and one of 8 take 55 bits.
  EXPECT_TRUE(decode_mutations(hex(despawns("05 a1 50 28 14 0a 85 10 01"))).ok());
  expect_corruption(despawns("05 a1 50 28 14 0a 85 90 01"), "bits behind the last gap");
  // Short runs in planes, or not.
  expect_corruption("02 06 01 01 04 01010101 01 02 00 61616161", "not in planes");
  expect_corruption("02 06 01 01 04 01010101 01 02 02 61616161", "planes or not");
  expect_corruption("02 06 01 01 04 01010101 01 02 01 00 61626364", "planes in vain");
  EXPECT_TRUE(decode_mutations(hex("02 06 01 01 04 01010101 01 02 00 61626364")).ok());
  EXPECT_TRUE(decode_mutations(hex("02 06 01 01 04 01010101 01 02 01 01 61")).ok());
}

TEST(Mutations, EveryTruncationIsAnErrorOrAShorterTick) {
  for (const TickMutations& tick : {sample(), large(), scattered(1, 40, 8)}) {
    test::for_every_prefix(*encode_mutations(tick), [](const Bytes& cut) {
      // Between two sections a prefix is a tick. The log's checksum is what knows better.
      const auto decoded = decode_mutations(cut);
      EXPECT_TRUE(!decoded.ok() || *encode_mutations(*decoded) == cut);
    });
  }
}

TEST(Mutations, ABitFlipIsAnErrorOrAnotherTick) {
  for (const TickMutations& tick : {sample(), large(), scattered(1, 40, 8)}) {
    test::for_every_bit_flip(*encode_mutations(tick), [](const Bytes& flipped) {
      const test::AllocationWatch watch;
      const auto decoded = decode_mutations(flipped);
      EXPECT_LE(watch.peak_size(), 100'000u);
      if (!decoded) return;
      const auto again = encode_mutations(*decoded);
      EXPECT_TRUE(again.ok() && *again == flipped);
    });
  }
}

TEST(Mutations, HostileCountsAllocateNothing) {
  for (const std::string_view section :
       {"01", "02", "03", "04", "07", "08", "09", "0a", "0b", "0c", "0d", "05 01 01", "06 01 01"}) {
    for (const std::string version : {"01", "02"}) {
      const Bytes data = hex(version + std::string(section) + "ffffffff03 00 00 00 00");
      const test::AllocationWatch watch;
      const auto decoded = decode_mutations(data);
      ASSERT_FALSE(decoded.ok()) << section;
      EXPECT_NE(decoded.error().message().find("count larger"), std::string::npos)
          << decoded.error().message();
      EXPECT_LE(watch.peak_size(), 1'000u);
    }
  }
}

}  // namespace
}  // namespace varve
