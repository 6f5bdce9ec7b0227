#include <nlohmann/json.hpp>

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolInfo : public ToolTest {};

TEST_F(ToolInfo, SaysWhatASaveHolds) {
  const std::string save = sample_save();
  const Said said = varve({"info", save});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.out, "save        " + save + R"(
format      full
generation  1
tick        7
generator   flat version 2

kind           records     payload bytes
chunk                3                10
entity               2                 7
player               1                 6
global               1                 4

      chunks  from:to in space
           2  3,-2:10,4 in the default space
           1  -1,5:-1,5 in the_nether

the format full carries
  coordinates  1 to 4
  spaces       yes
  entities     bytes, with or without an owner
  players      yes
  globals      yes
  generator    yes
  backups      yes
  record size  up to 1073741824 bytes
)");
}

TEST_F(ToolInfo, SaysWhatAFormatCannotDo) {
  const std::string bare = path("empty.bare");
  make_save(bare, "bare", {});
  const Said said = varve({"info", bare});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("generator   none\n"), std::string::npos);
  EXPECT_NE(said.out.find("  coordinates  2; the first from -10 to 10; the second from -10 to 10\n"
                          "  spaces       no\n  entities     no\n  players      no\n"),
            std::string::npos)
      << said.out;
}

TEST_F(ToolInfo, JsonHasTheSame) {
  const std::string save = sample_save();
  const Said said = varve({"info", "--json", save});
  EXPECT_EQ(said.code, 0) << said.err;
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["format"], "full");
  EXPECT_EQ(json["generation"], 1);
  EXPECT_EQ(json["tick"], 7);
  EXPECT_EQ(json["generator"], (nlohmann::json{{"name", "flat"}, {"version", 2}}));
  EXPECT_EQ(json["records"]["chunk"], (nlohmann::json{{"count", 3}, {"size", 10}}));
  EXPECT_EQ(json["records"]["global"], (nlohmann::json{{"count", 1}, {"size", 4}}));
  EXPECT_EQ(json["spaces"], nlohmann::json::parse(
                                R"([{"space": "", "chunk_count": 2, "min": [3, -2], "max": [10, 4]},
                    {"space": "the_nether", "chunk_count": 1, "min": [-1, 5], "max": [-1, 5]}])"));
  EXPECT_EQ(json["can"]["coordinate_ranges"].size(), 4u);
  EXPECT_EQ(json["can"]["entity_schema"], "bytes");
  EXPECT_EQ(json["opening"]["problems"], nlohmann::json::array());
}

TEST_F(ToolInfo, PositionsOfDifferentCountsHaveBoxesOfTheirOwn) {
  Commit commit;
  for (const ChunkPos pos : {ChunkPos(1, 2), ChunkPos(-4, 9), ChunkPos(5, 5, 5)}) {
    commit.chunks.push_back({.pos = pos, .payload = Bytes()});
  }
  make_save(path("mixed"), "onefile", commit);
  const Said said = varve({"info", path("mixed")});
  EXPECT_NE(said.out.find("           2  -4,2:1,9 in the default space\n"
                          "           1  5,5,5:5,5,5 in the default space\n"),
            std::string::npos)
      << said.out;
}

TEST_F(ToolInfo, DamageFoundOnOpeningIsSaid) {
  const std::string save = sample_save();
  Damage::of_process().opening = {.finished_commit = true,
                                  .dropped_tail = true,
                                  .problems = {{"catalog", corruption("it is torn")}}};
  const Said said = varve({"info", save});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("damage found on opening\n  catalog: it is torn\n"), std::string::npos);
  EXPECT_NE(said.out.find("died during a commit that counts;"), std::string::npos);
  EXPECT_NE(said.out.find("died during a commit that does not count;"), std::string::npos);

  const Said json = varve({"info", save, "--json"});
  EXPECT_EQ(json.code, 1);
  const auto opening = nlohmann::json::parse(json.out)["opening"];
  EXPECT_EQ(opening["finished_commit"], true);
  EXPECT_EQ(opening["problems"][0]["key"], "catalog");
  EXPECT_EQ(opening["problems"][0]["code"], "corruption");
}

}  // namespace
}  // namespace varve::test
