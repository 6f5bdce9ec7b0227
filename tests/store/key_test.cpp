#include "varve/key.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <thread>
#include <unordered_set>

namespace varve {
namespace {

Space space(std::string_view name) { return Space::named(name).value(); }

TEST(Key, NamesAreAnyTextWithoutControlCharacters) {
  for (const std::string_view good :
       {"a", ".", "..", "a/b", " ", "weather forecast", "\xc3\xa9\xe2\x98\x83", ":", "chunk:1,2"}) {
    EXPECT_TRUE(check_name(good)) << good;
  }
  EXPECT_TRUE(check_name(std::string(kNameSizeMax, 'x')));
}

TEST(Key, BadNamesAreRefusedWithoutPrintingThem) {
  using namespace std::string_view_literals;
  for (const std::string_view bad :
       {""sv, "a\nb"sv, "\0"sv, "\x7f"sv, "\xc2\x85"sv, "\xff"sv, "\xed\xa0\x80"sv}) {
    const Status status = check_name(bad);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument);
    for (const char c : status.error().message()) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
  EXPECT_FALSE(check_name(std::string(kNameSizeMax + 1, 'x')));
}

TEST(Space, TheSameNameIsTheSameSpace) {
  EXPECT_EQ(space("the_nether"), space("the_nether"));
  EXPECT_NE(space("the_nether"), space("the_end"));
  EXPECT_EQ(space("the_nether").name(), "the_nether");
}

TEST(Space, TheDefaultOneHasTheEmptyName) {
  EXPECT_EQ(space(""), Space());
  EXPECT_EQ(Space().name(), "");
  EXPECT_EQ(Space().id(), 0u);
}

TEST(Space, TheyAreOrderedByNameAndNotByAge) {
  const Space z = space("order z");
  const Space a = space("order a");
  EXPECT_LT(a, z);
  EXPECT_LT(Space(), a);
  EXPECT_LT(ChunkPos(9, 9).in(a), ChunkPos(0, 0).in(z));
}

TEST(Space, BadNamesAreRefused) { EXPECT_FALSE(Space::named("a\tb")); }

TEST(Space, ThreadsThatNameTheSameSpacesAgree) {
  constexpr int kCount = 500;
  std::vector<std::vector<Space>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) {
      threads.emplace_back([&mine] {
        for (int i = 0; i < kCount; ++i) {
          mine.push_back(space("thread " + std::to_string(i)));
          ASSERT_EQ(mine.back().name(), "thread " + std::to_string(i));
        }
      });
    }
  }
  for (const auto& other : seen) EXPECT_EQ(other, seen.front());
}

// True if the names run out where they should, and those known before stay known.
bool names_run_out() {
  const Space before = space("before the flood");
  Result<Space> last = Space();
  int count = 0;
  while (last && count < 70'000) last = Space::named("flood " + std::to_string(count++));
  return !last && last.error().code() == ErrorCode::unsupported &&
         last.error().message().find("65536") != std::string::npos && count < 65'536 &&
         space("before the flood") == before && space("flood 17").name() == "flood 17";
}

// In a process of its own, since it uses up all the names there are.
TEST(SpaceDeathTest, OneTooManyIsRefused) {
  EXPECT_EXIT(std::_Exit(names_run_out() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(ChunkBox, HoldsBothCornersAndNoOtherKindOfPosition) {
  const ChunkBox box{ChunkPos(-1, 2), ChunkPos(3, 2)};
  EXPECT_TRUE(box.contains(ChunkPos(-1, 2)));
  EXPECT_TRUE(box.contains(ChunkPos(3, 2)));
  EXPECT_FALSE(box.contains(ChunkPos(4, 2)));
  EXPECT_FALSE(box.contains(ChunkPos(0, 3)));
  EXPECT_FALSE(box.contains(ChunkPos(0, 2, 0)));
  EXPECT_FALSE(box.contains(ChunkPos(0, 2).in(space("boxed"))));
}

TEST(ChunkPos, IsOrderedBySpaceThenCountThenCoordinates) {
  EXPECT_LT(ChunkPos(100), ChunkPos(-5, -5));
  EXPECT_LT(ChunkPos(-1, 5), ChunkPos(0, -5));
  EXPECT_LT(ChunkPos(1, 2, 3), ChunkPos(1, 2, 4));
}

TEST(ChunkPos, NeighboursHashApart) {
  std::unordered_set<std::size_t> low_bits;
  for (int x = -32; x < 32; ++x) {
    for (int y = -32; y < 32; ++y) low_bits.insert(std::hash<ChunkPos>()(ChunkPos(x, y)) & 0xffff);
  }
  EXPECT_GT(low_bits.size(), 3800u);
}

TEST(RecordKey, PrintsAsTheHeaderSays) {
  EXPECT_EQ(to_string(ChunkPos(3, -2)), "chunk:3,-2");
  EXPECT_EQ(to_string(ChunkPos(3, -2).in(space("the_nether"))), "chunk:the_nether/3,-2");
  EXPECT_EQ(to_string(ChunkPos(-2147483647 - 1)), "chunk:-2147483648");
  EXPECT_EQ(entity_key(17), "entity:17");
  EXPECT_EQ(player_key("5f3a"), "player:5f3a");
  EXPECT_EQ(global_key("weather"), "global:weather");
}

TEST(RecordKey, ASpaceMayHaveSlashesInIt) {
  const auto key = parse_record_key("chunk:a/1,2/3,4");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->pos, ChunkPos(3, 4).in(space("a/1,2")));
}

TEST(RecordKey, ParsingRefusesWhatItCannotPrintBack) {
  for (const std::string_view bad : {"",
                                     "chunk",
                                     "chunk:",
                                     "chunk:1,",
                                     "chunk:,1",
                                     "chunk:01",
                                     "chunk:+1",
                                     "chunk:-0",
                                     "chunk: 1",
                                     "chunk:1 ",
                                     "chunk:1,2,3,4,5",
                                     "chunk:2147483648",
                                     "chunk:/1,2",
                                     "chunk:a/",
                                     "chunk:1.5",
                                     "entity:",
                                     "entity:-1",
                                     "entity:007",
                                     "entity:18446744073709551616",
                                     "player:",
                                     "global:",
                                     "player:a\nb",
                                     "Chunk:1,2",
                                     "chunks:1,2",
                                     "thing:1"}) {
    const auto key = parse_record_key(bad);
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().code(), ErrorCode::invalid_argument) << bad;
  }
}

RC_GTEST_PROP(RecordKey, WhatIsPrintedIsParsedBack, ()) {
  const auto name = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::inRange<char>(0x20, 0x7f), rc::gen::element('/', ':', ',', '.', '-'))));
  RecordKey key;
  key.kind = static_cast<RecordKind>(*rc::gen::inRange(0, 4));
  switch (key.kind) {
    case RecordKind::chunk:
      // Of few names: the process keeps each one.
      key.pos.space =
          space(*rc::gen::element<std::string>("", "nether", "a/b", "1,2/3", ":", "../x"));
      key.pos.coordinate_count = static_cast<std::uint8_t>(*rc::gen::inRange(1, 5));
      for (std::size_t i = 0; i < key.pos.coordinate_count; ++i) {
        key.pos.coordinates[i] = *rc::gen::arbitrary<std::int32_t>();
      }
      break;
    case RecordKind::entity:
      key.id = *rc::gen::arbitrary<std::uint64_t>();
      break;
    case RecordKind::player:
    case RecordKind::global:
      key.name = (*name).substr(0, kNameSizeMax);
      break;
  }
  const auto parsed = parse_record_key(to_string(key));
  RC_ASSERT(parsed.ok());
  RC_ASSERT(*parsed == key);
}

RC_GTEST_PROP(RecordKey, WhateverIsParsedIsPrintedTheSame, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::element('0', '1', '-', ',', '/', '+', ' ', 'a'));
  for (const std::string kind : {"chunk:", "entity:", "player:"}) {
    // The numbers of spaces are few, so only texts without one.
    if (kind == "chunk:" && text.find('/') != std::string::npos) continue;
    const auto key = parse_record_key(kind + text);
    if (key) RC_ASSERT(to_string(*key) == kind + text);
  }
}

}  // namespace
}  // namespace varve
