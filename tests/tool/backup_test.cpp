#include <nlohmann/json.hpp>

#include "tool/tool_fixture.h"
#include "varve/format.h"

namespace varve::test {
namespace {

class ToolBackup : public ToolTest {
 protected:
  std::string copy() const { return path("copy"); }
};

TEST_F(ToolBackup, CopiesASaveAndThenWhatChanged) {
  const std::string save = sample_save("varve");
  const Said first = varve({"backup", save, copy()});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(first.out.starts_with(copy() + ": generation 1, tick 7; ")) << first.out;
  EXPECT_EQ(first.err, "");
  EXPECT_EQ(varve({"digest", copy()}).out, varve({"digest", save}).out);

  EXPECT_EQ(varve({"put", save, "global:season", "-"}, "spring").code, 0);
  const Said second = varve({"backup", save, copy(), "--json"});
  EXPECT_EQ(second.code, 0) << second.err;
  const auto json = nlohmann::json::parse(second.out);
  EXPECT_EQ(json["incremental"], true);
  EXPECT_EQ(json["copied_count"], 1);
  EXPECT_EQ(json["erased_count"], 0);
  EXPECT_EQ(json["generation"], 2);
  EXPECT_EQ(varve({"digest", copy()}).out, varve({"digest", save}).out);
}

TEST_F(ToolBackup, CopiesWhileAnotherWrites) {
  const std::string save = sample_save("varve");
  const auto writer = open_store(save);
  ASSERT_TRUE(writer.ok());
  const Said said = varve({"backup", save, copy()});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE((*writer)->close().ok());
}

TEST_F(ToolBackup, RestoresAndKeepsWhatWasThere) {
  const std::string save = sample_save("varve");
  const std::string before = varve({"digest", save}).out;
  ASSERT_EQ(varve({"backup", save, copy()}).code, 0);
  ASSERT_EQ(varve({"put", save, "global:season", "-"}, "spring").code, 0);
  const std::string after = varve({"digest", save}).out;
  const Said said = varve({"backup", "--restore", copy(), save});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(varve({"digest", save}).out, before);
  EXPECT_EQ(varve({"digest", save + ".before-restore"}).out, after);
  const Said again = varve({"backup", "--restore", copy(), save});
  EXPECT_EQ(again.code, 3);
  EXPECT_NE(again.err.find(".before-restore is there already"), std::string::npos) << again.err;
}

TEST_F(ToolBackup, RefusesWhatItCannotDoAndChangesNothing) {
  const std::string save = sample_save("varve");
  EXPECT_EQ(varve({"backup", path("nothing"), copy()}).code, 3);
  EXPECT_EQ(varve({"backup", save, save}).code, 3);
  EXPECT_EQ(varve({"backup", save, path(".") + "/" + save.substr(path("").size())}).code, 3);
  EXPECT_EQ(varve({"backup", save}).code, 2);
  EXPECT_EQ(varve({"backup", save, "memory:x"}).code, 2);
  write_file(copy(), "somebody's");
  const Said taken = varve({"backup", save, copy()});
  EXPECT_EQ(taken.code, 3);
  EXPECT_NE(taken.err.find("is no varve save"), std::string::npos) << taken.err;
  EXPECT_EQ(read_file(copy()), "somebody's");
}

TEST_F(ToolBackup, SaysWhatToUseForOtherFormats) {
  const Said said = varve({"backup", sample_save("onefile"), copy()});
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.err.find("convert"), std::string::npos) << said.err;
  EXPECT_FALSE(exists(copy()));
}

}  // namespace
}  // namespace varve::test
