#include <filesystem>
#include <nlohmann/json.hpp>

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolConvert : public ToolTest {
 protected:
  std::string copy() const { return path("copy"); }

  Said convert(const std::string& save, const std::string& to, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"convert", save, copy(), "--to", to});
    return varve(more);
  }

  // Nothing at the path, and nothing beside it but perhaps a lock.
  void expect_nothing_left() {
    for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(!name.starts_with("copy") || name.ends_with(".lock")) << name;
    }
  }
};

TEST_F(ToolConvert, MovesEverything) {
  const std::string save = sample_save();
  const std::string before = read_file(save);
  const Said said = convert(save, "onefile");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "3 chunks, 2 entities, 1 player and 1 global converted, 27 bytes\n");
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(varve({"digest", copy()}).out, varve({"digest", save}).out);
  const auto store = open_store(copy());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->capabilities().format, "onefile");
  EXPECT_EQ((*store)->tick(), 7u);
  EXPECT_EQ((*store)->generator(), (GeneratorId{.name = "flat", .version = 2}));
  EXPECT_EQ(read_file(save), before);
}

TEST_F(ToolConvert, ThereAndBackIsTheSameWorld) {
  Commit commit{.tick = 12};
  commit.chunks = {{.pos = ChunkPos(0, 3, -2, 0), .payload = Bytes::copy_of("stone")},
                   {.pos = ChunkPos(5, -7, 1, 255), .payload = Bytes()}};
  commit.players = {{.name = "../Ann Lee", .data = Bytes::copy_of("hungry")}};
  commit.globals = {{.name = "weather", .data = Bytes::copy_of("rain")}};
  commit.generator = GeneratorId{.name = "flat", .version = 2};
  const std::string save = path("world");
  make_save(save, "nebula", commit);
  EXPECT_EQ(convert(save, "onefile").code, 0);
  const Said back = varve({"convert", copy(), path("back"), "--to", "nebula"});
  EXPECT_EQ(back.code, 0) << back.out << back.err;
  EXPECT_EQ(varve({"digest", path("back")}).out, varve({"digest", save}).out);
  const auto store = open_store(path("back"));
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->capabilities().format, "nebula");
  EXPECT_EQ((*store)->tick(), 12u);
  EXPECT_EQ((*store)->generator(), commit.generator);
}

TEST_F(ToolConvert, AnEmptySaveKeepsItsTick) {
  make_save(path("empty"), "onefile", {.tick = 40});
  EXPECT_EQ(convert(path("empty"), "onefile").code, 0);
  EXPECT_EQ((*open_store(copy()))->tick(), 40u);
}

TEST_F(ToolConvert, WhatCannotBeCarriedIsListedAndRefused) {
  Commit commit = sample();
  commit.chunks.push_back({.pos = ChunkPos(11, 0), .payload = Bytes()});
  commit.chunks.push_back({.pos = ChunkPos(1, 2, 3), .payload = Bytes()});
  commit.globals.push_back({.name = "long", .data = Bytes::copy_of(std::string(101, 'x'))});
  const std::string save = path("world.full");
  make_save(save, "full", commit);
  const std::string left_out =
      "generator flat: bare does not keep it\n"
      "chunk:11,0: coordinate 1 goes from -10 to 10 in the format bare\n"
      "chunk:1,2,3: the format bare takes positions of 2 to 2 coordinates, not 3\n"
      "chunk:the_nether/-1,5: the format bare cannot keep spaces other than the default one\n"
      "entity:4: the format bare cannot keep entities\n"
      "entity:17: the format bare cannot keep entities\n"
      "player:Ann Lee 100%: the format bare cannot keep players\n"
      "global:long: 101 bytes; the format bare takes at most 100 in a record\n";

  const Said refused = convert(save, "bare");
  EXPECT_EQ(refused.code, 3);
  EXPECT_EQ(refused.out, left_out);
  EXPECT_NE(refused.err.find("so nothing was written; --lossy"), std::string::npos) << refused.err;
  expect_nothing_left();

  const Said lossy = convert(save, "bare", {"--lossy"});
  EXPECT_EQ(lossy.code, 1) << lossy.err;
  EXPECT_EQ(lossy.out,
            left_out + "2 chunks, 0 entities, 0 players and 1 global converted, 9 bytes\n");
  EXPECT_EQ(varve({"ls", copy()}).out, "chunk:3,-2\t5\nchunk:10,4\t0\nglobal:weather\t4\n");
  EXPECT_EQ((*open_store(copy()))->tick(), 7u);
}

TEST_F(ToolConvert, EntitiesGoOnlyWhereTheirSchemaIsUnderstood) {
  const std::string save = sample_save();
  const Said refused = convert(save, "boxed");
  EXPECT_EQ(refused.code, 3);
  EXPECT_EQ(refused.out,
            "entity:4: its data is bytes, and the format boxed keeps boxes\n"
            "entity:17: its data is bytes, and the format boxed keeps boxes\n");
  Commit commit;
  commit.entities = {{.id = 1, .value = EntityValue{ChunkPos(1, 1), Bytes::copy_of("box")}}};
  const std::string owned = path("world.boxed");
  make_save(owned, "boxed", commit);
  EXPECT_EQ(convert(owned, "boxed").code, 0);
  // Bytes are what anything is made of.
  const Said bytes = varve({"convert", owned, path("copy2"), "--to", "full"});
  EXPECT_EQ(bytes.code, 0) << bytes.out;
}

TEST_F(ToolConvert, DamagedRecordsAreListedAndRefused) {
  const std::string save = sample_save();
  for (const std::string key : {"chunk:3,-2", "global:weather"}) {
    Damage::of_process().reads.emplace(key, corruption("its checksum is wrong"));
  }
  const Said refused = convert(save, "onefile");
  EXPECT_EQ(refused.code, 3);
  EXPECT_EQ(refused.out,
            "chunk:3,-2: its checksum is wrong\nglobal:weather: its checksum is wrong\n");
  expect_nothing_left();
  const Said lossy = convert(save, "onefile", {"--lossy"});
  EXPECT_EQ(lossy.code, 1) << lossy.err;
  EXPECT_NE(lossy.out.find("2 chunks, 2 entities, 1 player and 0 globals converted, 18 bytes\n"),
            std::string::npos)
      << lossy.out;
}

TEST_F(ToolConvert, WhatTheTargetRefusesIsLeftOutAlone) {
  Commit commit = sample();
  for (int x = 100; x < 200; ++x) {
    commit.chunks.push_back({.pos = ChunkPos(x, 0), .payload = Bytes::copy_of("x")});
  }
  const std::string save = path("world");
  make_save(save, "onefile", commit);
  for (const std::string key : {"chunk:137,0", "chunk:199,0", "global:weather"}) {
    Damage::of_process().commits.emplace(key, unsupported(key + ": no room for it"));
  }
  const Said refused = convert(save, "full");
  EXPECT_EQ(refused.code, 3) << refused.err;
  expect_nothing_left();
  const Said lossy = convert(save, "full", {"--lossy", "--json"});
  EXPECT_EQ(lossy.code, 1) << lossy.err;
  const auto json = nlohmann::json::parse(lossy.out);
  EXPECT_EQ(json["left_out"].size(), 3u) << lossy.out;
  EXPECT_EQ(json["records"]["chunk"], (nlohmann::json{{"count", 101}, {"size", 108}}));
  EXPECT_EQ(json["records"]["global"], (nlohmann::json{{"count", 0}, {"size", 0}}));
}

TEST_F(ToolConvert, AFailureLeavesNothing) {
  const std::string save = sample_save();
  Damage::of_process().reads.emplace("entity:17", busy("somebody replaced it"));
  const Said read = convert(save, "onefile", {"--lossy"});
  EXPECT_EQ(read.code, 3);
  EXPECT_EQ(read.out, "");
  EXPECT_EQ(read.err, "varve: entity:17: somebody replaced it\n");
  expect_nothing_left();

  Damage::of_process() = {};
  Damage::of_process().commits.emplace("chunk:3,-2", out_of_space("the disk is full"));
  const Said write = convert(save, "full", {"--lossy"});
  EXPECT_EQ(write.code, 3);
  EXPECT_EQ(write.err, "varve: the disk is full\n");
  expect_nothing_left();
}

// A disk that dies gives up one record after the other; the rest must come out.
TEST_F(ToolConvert, WhatTheDiskCannotReadIsLeftOut) {
  const std::string save = sample_save();
  Damage::of_process().reads.emplace("entity:17", io_error("a bad sector"));
  EXPECT_EQ(convert(save, "onefile").code, 3);
  expect_nothing_left();
  const Said lossy = convert(save, "onefile", {"--lossy"});
  EXPECT_EQ(lossy.code, 1);
  EXPECT_TRUE(lossy.out.starts_with("entity:17: a bad sector\n")) << lossy.out;
}

TEST_F(ToolConvert, WhatAnInterruptedOneLeftIsNotItsSource) {
  const std::string left = copy() + ".unfinished-convert";
  make_save(left, "nebula", {});
  const Said said = varve({"convert", left, copy(), "--to", "nebula"});
  EXPECT_EQ(said.code, 3);
  EXPECT_TRUE(exists(left)) << said.err;
}

TEST_F(ToolConvert, ACopyThatReadsBackWrongIsNoCopy) {
  const std::string save = sample_save("onefile");
  Damage::of_process().reads.emplace("global:weather", corruption("its checksum is wrong"));
  const Said said = convert(save, "full", {"--lossy"});
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.err.find("the copy cannot be read: global:weather: its checksum"),
            std::string::npos)
      << said.err;
  expect_nothing_left();
}

TEST_F(ToolConvert, WhatExistsIsRefused) {
  const std::string save = sample_save();
  const std::string before = read_file(save);
  EXPECT_EQ(varve({"convert", save, save, "--to", "full"}).code, 3);
  EXPECT_EQ(read_file(save), before);
  write_file(copy(), "a letter");
  const Said said = convert(save, "onefile", {"--lossy"});
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.err.find(copy() + " exists already; choose another path"), std::string::npos);
  EXPECT_EQ(read_file(copy()), "a letter");
}

TEST_F(ToolConvert, AStaleUnfinishedOneIsRemoved) {
  const std::string save = sample_save();
  Commit stale;
  stale.globals = {{.name = "stale", .data = Bytes()}};
  make_save(copy() + ".unfinished-convert", "onefile", stale);
  EXPECT_EQ(convert(save, "onefile").code, 0);
  EXPECT_FALSE(exists(copy() + ".unfinished-convert"));
  EXPECT_EQ(varve({"digest", copy()}).out, varve({"digest", save}).out);
}

TEST_F(ToolConvert, ASlashBehindTheTargetIsNoPlaceOfItsOwn) {
  make_save(path("world"), "nebula", {});
  const Said said = varve({"convert", path("world/"), path("copy/"), "--to", "nebula"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(exists(path("copy/world.ron")));
  EXPECT_FALSE(exists(path("copy.unfinished-convert")));
}

TEST_F(ToolConvert, AFormatThatForgetsIsRefused) {
  const std::string save = sample_save();
  const Said said = varve({"convert", save, "memory:copy", "--to", "memory"});
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.err.find("does not outlive this program"), std::string::npos);
  EXPECT_EQ(convert(save, "dust").code, 2);
}

TEST_F(ToolConvert, TheReportAsJson) {
  const std::string save = sample_save();
  const auto json = nlohmann::json::parse(convert(save, "onefile", {"--json"}).out);
  EXPECT_EQ(json["source"], save);
  EXPECT_EQ(json["from"], "full");
  EXPECT_EQ(json["to"], "onefile");
  EXPECT_EQ(json["tick"], 7);
  EXPECT_EQ(json["converted"], true);
  EXPECT_EQ(json["records"]["entity"], (nlohmann::json{{"count", 2}, {"size", 7}}));
  EXPECT_EQ(json["left_out"], nlohmann::json::array());

  const Said refused = varve({"convert", save, path("copy2"), "--to", "bare", "--json"});
  EXPECT_EQ(refused.code, 3);
  const auto report = nlohmann::json::parse(refused.out);
  EXPECT_EQ(report["converted"], false);
  EXPECT_EQ(report["left_out"].size(), 5u);
  EXPECT_EQ(report["records"]["chunk"]["count"], 0);
}

}  // namespace
}  // namespace varve::test
