#include <nlohmann/json.hpp>

#include "tool/tool_fixture.h"
#include "varve/format.h"

namespace varve::test {
namespace {

class ToolCompact : public ToolTest {
 protected:
  // Six chunks, four of which have one payload that nothing makes smaller.
  std::string save_with_repeats() {
    Commit commit;
    for (int x = 0; x < 6; ++x) {
      commit.chunks.push_back({ChunkPos(x, 0), noise(x < 4 ? 0 : static_cast<unsigned>(x))});
    }
    const std::string save = path("world");
    make_save(save, "varve", commit);
    return save;
  }

  static Bytes noise(unsigned number) {
    Buffer out(1000);
    std::uint64_t state = number + 1;
    for (std::byte& byte : out.span()) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>(state >> 56);
    }
    return std::move(out).freeze();
  }
};

TEST_F(ToolCompact, SharesWhatSeveralChunksHaveIfAsked) {
  const std::string save = save_with_repeats();
  const std::string before = varve({"digest", save}).out;
  const auto without = nlohmann::json::parse(varve({"compact", save, "--json"}).out);
  EXPECT_EQ(without["size_after"], without["size_before"]) << "nobody asked for it";

  const Said said = varve({"compact", save, "--share", "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["size_before"], without["size_after"]);
  EXPECT_LT(json["size_after"].get<std::uint64_t>(),
            json["size_before"].get<std::uint64_t>() - 2500);
  EXPECT_EQ(varve({"digest", save}).out, before);
  EXPECT_EQ(varve({"verify", save}).code, 0);

  const auto again = nlohmann::json::parse(varve({"compact", save, "--share", "--json"}).out);
  EXPECT_EQ(again["size_before"], json["size_after"]);
  EXPECT_EQ(again["size_after"], json["size_after"]);
}

TEST_F(ToolCompact, SharesBesideAnotherSpeed) {
  const std::string save = save_with_repeats();
  const std::string before = varve({"digest", save}).out;
  const Said said = varve({"compact", save, "--speed", "small", "--share"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(varve({"digest", save}).out, before);
  EXPECT_EQ(varve({"verify", save}).code, 0);
}

TEST_F(ToolCompact, SharesOnlyInSavesThatCan) {
  const std::string save = sample_save("onefile");
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--share"}, {"--speed", "small"}}) {
    std::vector<std::string> args = {"compact", save};
    args.insert(args.end(), option.begin(), option.end());
    const Said said = varve(args);
    EXPECT_EQ(said.code, 3);
    EXPECT_NE(said.err.find(option[0] + " is for saves of the format varve"), std::string::npos)
        << said.err;
  }
  EXPECT_EQ(varve({"compact", path("nothing"), "--share"}).code, 3);
}

}  // namespace
}  // namespace varve::test
