#include <nlohmann/json.hpp>

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolVerify : public ToolTest {};

TEST_F(ToolVerify, ACleanSaveSaysHowManyRecordsWereRead) {
  const Said said = varve({"verify", sample_save()});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "7 records read, no problems\n");
  EXPECT_EQ(said.err, "");
}

TEST_F(ToolVerify, EachProblemIsALine) {
  const std::string save = sample_save();
  Damage::of_process().reads.emplace("chunk:3,-2", corruption("its checksum is wrong"));
  Damage::of_process().reads.emplace("entity:4", corruption("entity:4: it is torn"));
  // A message that names the record is not led by its key again. What opening and reading both
  // found is one problem.
  Damage::of_process().opening = {.finished_commit = true,
                                  .problems = {{"entity:4", corruption("entity:4: it is torn")},
                                               {"catalog", corruption("it is gone")}}};
  const Said said = varve({"verify", save});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.out,
            "chunk:3,-2: its checksum is wrong\nentity:4: it is torn\ncatalog: it is gone\n");
  EXPECT_NE(said.err.find(save + ": the last writer died"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find(save + ": 3 problems in 7 records\n"), std::string::npos) << said.err;

  const Said json = varve({"verify", save, "--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(json.err, "");
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["record_count"], 7);
  EXPECT_EQ(parsed["finished_commit"], true);
  EXPECT_EQ(parsed["problems"].size(), 3u);
  EXPECT_EQ(parsed["problems"][0]["key"], "chunk:3,-2");
  EXPECT_EQ(parsed["problems"][0]["message"], "its checksum is wrong");
}

TEST_F(ToolVerify, JsonOfACleanSave) {
  const Said said = varve({"verify", sample_save(), "--json"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(nlohmann::json::parse(said.out)["problems"], nlohmann::json::array());
}

TEST_F(ToolVerify, ASaveTooDamagedToOpenIsAProblem) {
  const std::string save = sample_save();
  std::string contents = read_file(save);
  contents[contents.size() / 2] ^= 1;
  write_file(save, contents);
  const Said said = varve({"verify", save});
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(said.out.starts_with(save + ": ")) << said.out;
  // To the other commands it is a save they cannot open.
  EXPECT_EQ(varve({"info", save}).code, 3);
  EXPECT_EQ(varve({"digest", save}).code, 3);
}

}  // namespace
}  // namespace varve::test
