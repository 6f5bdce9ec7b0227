#include <nlohmann/json.hpp>

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolLs : public ToolTest {
 protected:
  // Runs ls on the sample; `args` follow the save.
  std::string listed(std::vector<std::string> args) {
    if (save_.empty()) save_ = sample_save();
    args.insert(args.begin(), {"ls", save_});
    const Said said = varve(args);
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(said.err, "");
    return said.out;
  }
  std::string save_;
};

TEST_F(ToolLs, ListsEveryRecordByKind) {
  EXPECT_EQ(listed({}),
            "chunk:3,-2\t5\n"
            "chunk:10,4\t0\n"
            "chunk:the_nether/-1,5\t5\n"
            "entity:4\t4\n"
            "entity:17\t3\tchunk:3,-2\n"
            "player:Ann Lee 100%\t6\n"
            "global:weather\t4\n");
}

TEST_F(ToolLs, APatternIsAKindOrWhatKeysBeginWith) {
  EXPECT_EQ(listed({"entity"}), "entity:4\t4\nentity:17\t3\tchunk:3,-2\n");
  EXPECT_EQ(listed({"chunk:the_nether/"}), "chunk:the_nether/-1,5\t5\n");
  EXPECT_EQ(listed({"player:Ann"}), "player:Ann Lee 100%\t6\n");
  EXPECT_EQ(listed({"global:w"}), "global:weather\t4\n");
  EXPECT_EQ(listed({"global:x"}), "");
}

TEST_F(ToolLs, SpaceAndBoxLeaveWhatHasAPlaceThere) {
  EXPECT_EQ(listed({"--space", "the_nether"}), "chunk:the_nether/-1,5\t5\n");
  EXPECT_EQ(listed({"--space", ""}), "chunk:3,-2\t5\nchunk:10,4\t0\nentity:17\t3\tchunk:3,-2\n");
  EXPECT_EQ(listed({"--box", "-3,-2:3,5"}), "chunk:3,-2\t5\nentity:17\t3\tchunk:3,-2\n");
  EXPECT_EQ(listed({"entity", "--box", "-3,-2:3,5"}), "entity:17\t3\tchunk:3,-2\n");
  EXPECT_EQ(listed({"--space", "the_nether", "--box", "-1,5:-1,5"}), "chunk:the_nether/-1,5\t5\n");
  EXPECT_EQ(listed({"--box", "4,4:9,9"}), "");
  EXPECT_EQ(listed({"--box", "3,-2,0:3,-2,0"}), "");
}

TEST_F(ToolLs, JsonIsOneObjectALine) {
  const std::string out = listed({"entity", "--json"});
  const std::size_t end = out.find('\n');
  EXPECT_EQ(nlohmann::json::parse(out.substr(0, end)),
            (nlohmann::json{{"key", "entity:4"}, {"kind", "entity"}, {"size", 4}}));
  EXPECT_EQ(nlohmann::json::parse(out.substr(end)),
            (nlohmann::json{
                {"key", "entity:17"}, {"kind", "entity"}, {"size", 3}, {"owner", "chunk:3,-2"}}));
}

TEST_F(ToolLs, WhatMakesNoSenseIsWrongUsage) {
  const std::string save = sample_save();
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"bogus"},
                                             {""},
                                             {":"},
                                             {"chunks"},
                                             {"--box", "1,2"},
                                             {"--box", "1,2:3"},
                                             {"--box", "a,b:c,d"},
                                             {"--box", "the_nether/1,2:the_nether/3,4"},
                                             {"--box", ""},
                                             {"--space", "a\tb"},
                                             {"chunk", "extra"}}) {
    std::vector<std::string> all = {"ls", save};
    all.insert(all.end(), args.begin(), args.end());
    const Said said = varve(all);
    EXPECT_EQ(said.code, 2) << args[0] << ' ' << args.back();
    EXPECT_EQ(said.out, "");
    EXPECT_TRUE(said.err.starts_with("varve: ")) << said.err;
  }
}

}  // namespace
}  // namespace varve::test
