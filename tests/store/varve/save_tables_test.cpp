// Spaces, generators and dictionaries: what records refer to by number.
#include "store/varve/save_tables.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "sample_payloads.h"
#include "sample_store.h"
#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr const char* kPage = "varve_v1.md";

Space named(std::string_view name) { return Space::named(name).value(); }

TEST(SaveTables, ThePageHasTheseBytes) {
  EXPECT_EQ(to_hex(space_key(1)), to_hex(example_of(kPage, "A space's key")));
  EXPECT_EQ(to_hex(encode_generator({"hills", 3})), to_hex(example_of(kPage, "A generator")));
  EXPECT_EQ(decode_generator(example_of(kPage, "A generator")).value(), (GeneratorId{"hills", 3}));
}

TEST(SaveTables, AGeneratorThatIsCutShortIsCorruption) {
  for (std::size_t size = 0; size < 4; ++size) {
    EXPECT_EQ(decode_generator(encode_generator({"hills", 3}).slice(0, size)).error().code(),
              ErrorCode::corruption);
  }
}

TEST(VarveSpaces, ManyAndNamedLikeEachOtherSurviveReopening) {
  std::vector<Space> spaces = {Space()};
  for (int i = 0; i < 300; ++i) spaces.push_back(named(fmt::format("space {}", i)));
  for (const std::string_view name : {"a", "A", "a ", "aa", "a/", "a/1,2", "0", "../a", "ä"}) {
    spaces.push_back(named(name));
  }
  spaces.push_back(named(std::string(255, 's')));
  spaces.push_back(named(std::string(254, 's') + "t"));
  const auto disk = new_disk();
  {
    const auto store = open_sample(disk);
    Commit all;
    for (const Space space : spaces)
      all.chunks.push_back(chunk(ChunkPos(1, 2).in(space), space.name()));
    commit(*store, all);
  }
  const auto store = open_sample(disk);
  EXPECT_TRUE(store->open_report().problems.empty());
  for (const Space space : spaces) {
    EXPECT_EQ(store->read_chunk(ChunkPos(1, 2).in(space)).value()->text(), space.name());
    EXPECT_FALSE(store->read_chunk(ChunkPos(2, 1).in(space)).value());
  }
  std::vector<ChunkPos> listed;
  EXPECT_TRUE(store->list_chunks({}, [&](const ChunkInfo& info) {
    listed.push_back(info.pos);
    return true;
  }));
  EXPECT_EQ(listed.size(), spaces.size());
  EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
  EXPECT_EQ(verify(*store).record_count, spaces.size());
  EXPECT_TRUE(verify(*store).clean());
  EXPECT_FALSE(store->read_chunk(ChunkPos(1, 2).in(named("never saved"))).value());
}

TEST(VarveSpaces, NumbersAreGivenOnceAndACommitThatFailedGaveNone) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  disk->next_outcome = WriteOutcome::failed;
  EXPECT_FALSE(try_commit(*store, {.chunks = {chunk(ChunkPos(1, 1).in(named("moon")), "no")}}));
  commit(*store, {.chunks = {chunk(ChunkPos(1, 1).in(named("nether")), "x")}});
  commit(*store, {.chunks = {chunk(ChunkPos(1, 1).in(named("moon")), "y")}});
  const auto again = open_sample(disk);
  EXPECT_EQ(again->read_chunk(ChunkPos(1, 1).in(named("nether"))).value()->text(), "x");
  EXPECT_EQ(again->read_chunk(ChunkPos(1, 1).in(named("moon"))).value()->text(), "y");
  // Without a record its number stays.
  commit(*again, {.chunks = {{ChunkPos(1, 1).in(named("nether")), std::nullopt}}});
  commit(*again, {.chunks = {chunk(ChunkPos(1, 1).in(named("sun")), "z")}});
  EXPECT_EQ(disk->count_of(KeyTag::space), 3u);
}

// nether is space 1, and its name is gone.
std::shared_ptr<SampleDisk> with_a_lost_space() {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  commit(*store, {.chunks = {chunk(ChunkPos(1, 1).in(named("nether")), "of the nether"),
                             chunk(ChunkPos(1, 1), "at home")}});
  disk->flip(space_key(1));
  return disk;
}

TEST(VarveSpaces, AnotherSpaceDoesNotGetTheNumberOfOneWhoseNameIsDamaged) {
  const auto disk = with_a_lost_space();
  {
    const auto store = open_sample(disk);
    EXPECT_EQ(store->open_report().problems.size(), 1u);
    commit(*store, {.chunks = {chunk(ChunkPos(5, 5).in(named("moon")), "of the moon")}});
    EXPECT_EQ(store->read_chunk(ChunkPos(5, 5).in(named("moon"))).value()->text(), "of the moon");
  }
  const auto store = open_sample(disk);
  EXPECT_EQ(store->read_chunk(ChunkPos(5, 5).in(named("moon"))).value()->text(), "of the moon");
  EXPECT_FALSE(store->read_chunk(ChunkPos(1, 1).in(named("moon"))).value())
      << "the moon has got what lay in the nether";
  // What was damaged is still there for whoever mends it.
  EXPECT_TRUE(disk->has(chunk_key(1, ChunkPos(1, 1))));
}

TEST(VarveSpaces, WhileANameIsLostAnUnknownSpaceIsNotTakenForNeverSaved) {
  const auto disk = with_a_lost_space();
  const auto store = open_sample(disk);
  const auto read = store->read_chunk(ChunkPos(1, 1).in(named("nether")));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::corruption);
  EXPECT_NE(read.error().message().find("table of spaces"), std::string::npos);
  EXPECT_EQ(store->read_entities_of(ChunkPos(1, 1).in(named("nether"))).error().code(),
            ErrorCode::corruption);
  EXPECT_EQ(store->read_chunk(ChunkPos(1, 1)).value()->text(), "at home");
  EXPECT_EQ(store->pin().value()->read_chunk(ChunkPos(1, 1).in(named("nether"))).error().code(),
            ErrorCode::corruption);
  const std::string problems = problems_of(verify(*store));
  EXPECT_NE(problems.find("no space of number 1"), std::string::npos) << problems;
  EXPECT_NE(problems.find("table of spaces"), std::string::npos) << problems;
}

TEST(VarveSpaces, TablesThatContradictThemselvesAreReported) {
  const auto disk = new_disk();
  disk->put_framed(space_key(1), "nether");
  disk->put_framed(space_key(2), "nether");
  disk->put_framed(space_key(3), "");
  disk->put_framed(space_key(4), "a\nb");
  // 0 is the default space, which has no name.
  disk->put_framed(space_key(0), "moon");
  disk->put(SaveKey(KeyTag::space).u8(1).copy(), Bytes());
  const auto store = open_sample(disk);
  EXPECT_EQ(store->open_report().problems.size(), 5u);
  EXPECT_EQ(verify(*store).problems.size(), 5u) << problems_of(verify(*store));
  commit(*store, {.chunks = {chunk(ChunkPos(1, 1).in(named("moon")), "x"),
                             chunk(ChunkPos(1, 1).in(named("nether")), "y")}});
  EXPECT_FALSE(store->read_chunk(ChunkPos(1, 1)).value());
  EXPECT_TRUE(disk->has(space_key(5)));
  EXPECT_TRUE(disk->has(chunk_key(1, ChunkPos(1, 1))));
}

TEST(VarveSpaces, TheLastNumberIsGivenAndThenNoMore) {
  const auto disk = new_disk();
  disk->put_framed(space_key(65'534), "almost the last");
  const auto store = open_sample(disk);
  commit(*store, {.chunks = {chunk(ChunkPos(1).in(named("the last")), "x")}});
  const auto refused =
      try_commit(*store, {.chunks = {chunk(ChunkPos(1).in(named("one more")), "x")}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
  commit(*store, {.chunks = {chunk(ChunkPos(2).in(named("the last")), "x")}});
  EXPECT_EQ(open_sample(disk)->read_chunk(ChunkPos(2).in(named("the last"))).value()->text(), "x");
}

TEST(VarveGenerators, NumbersOfDamagedOnesAreNotGivenAgain) {
  const auto disk = new_disk();
  commit(*open_sample(disk), {.generator = GeneratorId{"hills", 1}});
  disk->flip(generator_key(1));
  const auto store = open_sample(disk);
  EXPECT_EQ(store->open_report().problems.size(), 1u);
  EXPECT_EQ(store->generator(), std::nullopt);
  commit(*store, {.generator = GeneratorId{"hills", 2}});
  EXPECT_TRUE(disk->has(generator_key(2)));
  EXPECT_EQ(open_sample(disk)->generator(), (GeneratorId{"hills", 2}));
}

TEST(VarveGenerators, ANumberThatCannotBeGivenIsNotGiven) {
  const auto disk = new_disk();
  disk->put_framed(generator_key(0), encode_generator({"none", 1}).text());
  disk->put_framed(generator_key(0xffff'fffe), encode_generator({"a", 1}).text());
  disk->put_framed(generator_key(0xffff'ffff), encode_generator({"b", 1}).text());
  const auto store = open_sample(disk);
  EXPECT_EQ(store->open_report().problems.size(), 1u);
  EXPECT_EQ(store->generator(), std::nullopt) << "0 is none";
  commit(*store, {.generator = GeneratorId{"b", 1}});
  EXPECT_EQ(store->generator(), (GeneratorId{"b", 1}));
  const auto refused = try_commit(*store, {.generator = GeneratorId{"c", 1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
}

TEST(VarveDictionaries, FramesMadeWithOneAreReadAfterReopening) {
  const auto disk = new_disk();
  disk->put_framed(dictionary_key(kDictionaryNumber), dictionary()->bytes().text());
  const VarveOptions balanced{.speed = SpeedClass::balanced};
  {
    const auto store = open_sample(disk, balanced);
    EXPECT_TRUE(store->open_report().problems.empty());
    Commit records;
    for (int i = 0; i < 20; ++i) records.chunks.push_back({ChunkPos(i, 0), record(i)});
    commit(*store, records);
  }
  const SaveKey key = chunk_key(0, ChunkPos(3, 0));
  EXPECT_EQ(info_of(disk->get(key)).compression, PayloadCompression::zstd_dictionary);
  // Whatever the options are.
  for (const SpeedClass speed : kAllSpeeds) {
    const auto store = open_sample(disk, {.speed = speed, .dictionaries = false});
    EXPECT_EQ(store->read_chunk(ChunkPos(3, 0)).value(), record(3));
    EXPECT_TRUE(verify(*store).clean());
  }
  // Without it, they are there and cannot be read.
  disk->flip(dictionary_key(kDictionaryNumber));
  const auto store = open_sample(disk, balanced);
  EXPECT_EQ(store->open_report().problems.size(), 1u);
  const auto read = store->read_chunk(ChunkPos(3, 0));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("dictionary 7"), std::string::npos)
      << read.error().message();
  EXPECT_EQ(verify(*store).problems.size(), 21u);
}

}  // namespace
}  // namespace varve
