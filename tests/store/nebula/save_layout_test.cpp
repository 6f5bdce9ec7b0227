#include "store/nebula/save_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "io/path.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

const SaveLayout kSave("saves/my.world");

RecordKey chunk(const ChunkPos& pos) { return {.kind = RecordKind::chunk, .pos = pos}; }
RecordKey player(std::string name) { return {.kind = RecordKind::player, .name = std::move(name)}; }
RecordKey global(std::string name) { return {.kind = RecordKind::global, .name = std::move(name)}; }

// The path of a record inside the save.
std::string file_of(const RecordKey& key) {
  const std::string path = kSave.file(key);
  const std::string root = kSave.root() + "/";
  EXPECT_TRUE(path.starts_with(root)) << path;
  return path.substr(root.size());
}

std::optional<RecordKey> key_of(std::string_view file) {
  const std::size_t slash = file.find('/');
  if (slash == std::string_view::npos) return key_of_file("", file);
  return key_of_file(file.substr(0, slash), file.substr(slash + 1));
}

TEST(SaveLayout, ChunksAreNamedAsTheFormatNamesThem) {
  EXPECT_EQ(file_of(chunk({0, 1, 2, 0})), "chunks/0_1_2_0.chunk");
  EXPECT_EQ(file_of(chunk({5, -3, 2147483647, 255})), "chunks/5_-3_2147483647_255.chunk");
  EXPECT_EQ(key_of("chunks/5_-2147483648_7_255.chunk"), chunk({5, -2147483647 - 1, 7, 255}));
}

TEST(SaveLayout, OnlyWhatWeWouldWriteIsAChunk) {
  for (const std::string_view name : {"0_1_2_0",
                                      "0_1_2_0.chunk~",
                                      "0_1_2_0.CHUNK",
                                      "0_1_2.chunk",
                                      "0_1_2_0_0.chunk",
                                      "00_1_2_0.chunk",
                                      "0_+1_2_0.chunk",
                                      "0_01_2_0.chunk",
                                      "0_-0_2_0.chunk",
                                      "0_ 1_2_0.chunk",
                                      "6_1_2_0.chunk",
                                      "-1_1_2_0.chunk",
                                      "0_1_2_256.chunk",
                                      "0_1_2_-1.chunk",
                                      "0_2147483648_2_0.chunk",
                                      "0_99999999999999999999_2_0.chunk",
                                      ".chunk",
                                      "_.chunk",
                                      "___.chunk",
                                      "0__2_0.chunk",
                                      "0_1_2_0x.chunk",
                                      ""}) {
    EXPECT_EQ(key_of_file("chunks", name), std::nullopt) << name;
  }
}

TEST(SaveLayout, EntitiesAndTheMetaAreWhereTheFormatHasThem) {
  EXPECT_EQ(file_of({.kind = RecordKind::entity, .id = 77}), "entities.bin");
  EXPECT_EQ(key_of("entities.bin"), scene_key());
  EXPECT_EQ(file_of(global(std::string(kMetaGlobal))), "world.ron");
  EXPECT_EQ(key_of("world.ron"), global(std::string(kMetaGlobal)));
  EXPECT_EQ(file_of(global("file:notes-1.TXT")), "notes-1.TXT");
}

TEST(SaveLayout, AwkwardNamesAreEscaped) {
  EXPECT_EQ(file_of(player("ann")), "players/ann");
  // Not "Ann": some disks do not tell it from "ann".
  EXPECT_EQ(file_of(player("Ann")), "players/%41nn");
  EXPECT_EQ(file_of(player(".")), "players/%2e");
  EXPECT_EQ(file_of(player("..")), "players/%2e.");
  EXPECT_EQ(file_of(player("../../etc/passwd")), "players/%2e.%2f..%2fetc%2fpasswd");
  EXPECT_EQ(file_of(player(".hidden")), "players/%2ehidden");
  EXPECT_EQ(file_of(player("a b%c~d")), "players/a%20b%25c%7ed");
  EXPECT_EQ(file_of(player("\xc3\xa9")), "players/%c3%a9");
  EXPECT_EQ(file_of(global("sky")), "globals/sky");
}

// A global may be called anything; only plain names lie beside world.ron.
TEST(SaveLayout, HostileGlobalsNeverLeaveTheSaveOrTakeItsPlaces) {
  for (const std::string_view name : {"",
                                      ".",
                                      "..",
                                      "../x",
                                      "/etc/passwd",
                                      "a/b",
                                      "varve",
                                      "varve/catalog",
                                      "varve/lock",
                                      "chunks",
                                      "chunks/0_0_0_0.chunk",
                                      "players",
                                      "globals",
                                      "quarantine",
                                      "entities.bin",
                                      ".hidden",
                                      "a b",
                                      "a\\b",
                                      "a:b",
                                      "varve/staged/1-0",
                                      "%2e",
                                      "~"}) {
    const std::string file = file_of(global("file:" + std::string(name)));
    EXPECT_TRUE(file.starts_with("globals/file%3a")) << name << " is " << file;
    EXPECT_EQ(key_of(file), global("file:" + std::string(name)));
  }
}

// Where the disk does not tell "Varve" from "varve", neither may we.
TEST(SaveLayout, PlacesOfTheSaveAreTakenInEveryCase) {
  for (const std::string_view name :
       {"Entities.bin", "ENTITIES.BIN", "Chunks", "VARVE", "Quarantine", "pLayers", "GLOBALS"}) {
    EXPECT_TRUE(file_of(global("file:" + std::string(name))).starts_with("globals/")) << name;
    EXPECT_EQ(key_of_file("", name), std::nullopt) << name;
  }
}

// Two files of one record would be one too many: whichever is read, the other is lost.
TEST(SaveLayout, ARecordHasOneFile) {
  EXPECT_EQ(key_of_file("globals", "file%3aworld.ron"), std::nullopt);
  EXPECT_EQ(key_of_file("globals", "file%3anotes.txt"), std::nullopt);
  EXPECT_EQ(key_of_file("globals", "file%3achunks"), global("file:chunks"));
  EXPECT_EQ(key_of_file("players", "file%3aworld.ron"), player("file:world.ron"));
  for (const std::string_view name : {"%41NN", "%4", "%", "%zz", "%61nn", "Ann", ".", "..", "%2E",
                                      "a~0123456789abcdef", "a b", "%00", "%ff", ""}) {
    EXPECT_EQ(key_of_file("players", name), std::nullopt) << name;
  }
}

TEST(SaveLayout, LongNamesKeepTheirBeginningAndDiffer) {
  const std::string long_name(200, 'a');
  EXPECT_EQ(file_of(player(long_name)), "players/" + long_name);
  const std::string longer_name(201, 'a');
  const std::string file = file_of(player(longer_name));
  EXPECT_EQ(file.substr(0, 109), "players/" + std::string(100, 'a') + "~");
  EXPECT_EQ(file.size(), 8u + 100 + 1 + 32);
  EXPECT_NE(file, file_of(player(std::string(202, 'a'))));
  EXPECT_EQ(key_of(file), std::nullopt) << "the catalog knows it, the file does not";
  // 255 bytes that are three each in a file.
  const std::string wide(255, '/');
  EXPECT_LE(path_name(kSave.file(player(wide))).size(), 200u);
  // Too long for a file beside world.ron.
  EXPECT_TRUE(file_of(global("file:" + longer_name)).starts_with("globals/file%3aaaa"));
}

TEST(SaveLayout, BackupsAreNumberedBehindTheWholeName) {
  EXPECT_EQ(backup_path("my.world", 1), "my.world.backup");
  EXPECT_EQ(backup_path("my.world", 2), "my.world.backup.2");
  EXPECT_EQ(SaveLayout("a/world//").root(), "a/world");
  EXPECT_EQ(SaveLayout("/").root(), "/");
}

TEST(SaveLayout, FileIdsArePrintedAndRead) {
  EXPECT_EQ(kSave.staged({17, 3}), "saves/my.world/varve/staged/17-3");
  EXPECT_EQ(kSave.held({17, 3}), "saves/my.world/varve/held/17-3");
  EXPECT_EQ(parse_file_id("17-3"), (FileId{17, 3}));
  EXPECT_EQ(parse_file_id("18446744073709551615-0"), (FileId{~std::uint64_t{0}, 0}));
  for (const std::string_view name :
       {"", "-", "17", "17-", "-3", "17-3-", "017-3", "17-03", "+17-3", "17--3",
        "18446744073709551616-0", "17-3.tmp", " 17-3"}) {
    EXPECT_EQ(parse_file_id(name), std::nullopt) << name;
  }
}

// Invariants: the file of any record lies in its folder, its name is one a disk takes, and
// it leads back to the record, or to none if the name is too long for that.
RC_GTEST_PROP(SaveLayout, EveryNameHasAFileOfItsOwn, ()) {
  const auto any_name = [] {
    const auto piece = rc::gen::weightedOneOf<std::string>(
        {{6, rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f))},
         {2, rc::gen::element<std::string>("file:", "..", "/", "varve", "A", "%", "~", "\xc3\xa9")},
         {1, rc::gen::just(std::string(90, 'x'))}});
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const auto& all) {
      std::string name = "n";
      for (const std::string& each : all) name += each;
      name.erase(std::min(name.size(), kNameSizeMax));
      // Not in the middle of a letter.
      while (!check_name(name)) name.pop_back();
      return name;
    });
  };
  const std::string name = *any_name();
  const std::string other = *any_name();
  const std::string bare = name.substr(1).empty() ? name : "file:" + name.substr(1);
  for (const RecordKey& key : {player(name), global(name), global(bare.substr(0, kNameSizeMax))}) {
    if (!check_name(key.name)) continue;
    const std::string file = file_of(key);
    const std::string_view base = path_name(file);
    RC_ASSERT(base.size() >= 1u && base.size() <= 200u);
    RC_ASSERT(base.front() != '.');
    RC_ASSERT(std::count(file.begin(), file.end(), '/') <= 1);
    RC_ASSERT(file.find('\\') == std::string::npos);
    if (base.find('~') == std::string_view::npos) {
      RC_ASSERT(key_of(file) == key);
    } else {
      RC_ASSERT(key_of(file) == std::nullopt);
    }
  }
  RC_ASSERT((name == other) == (file_of(player(name)) == file_of(player(other))));
}

}  // namespace
}  // namespace varve::nebula
