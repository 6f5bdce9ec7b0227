// What all commands have in common.
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <streambuf>

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolRun : public ToolTest {};

// Takes some bytes and then no more, as a disk does that is full.
class FullDisk : public std::streambuf {
 public:
  explicit FullDisk(int room) : room_(room) {}
  int taken() const { return taken_; }

 private:
  int_type overflow(int_type character) override {
    if (taken_ >= room_) return traits_type::eof();
    ++taken_;
    return character;
  }
  int room_;
  int taken_ = 0;
};

TEST_F(ToolRun, TheVersionIsTheLibrarys) {
  const Said said = varve({"--version"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, "varve 0.1.0\n");
}

TEST_F(ToolRun, HelpNamesEveryCommandAndFormat) {
  const Said said = varve({"--help"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.err, "");
  for (const tool::Command& command : tool::commands()) {
    EXPECT_NE(said.out.find("\n  " + std::string(command.name) + " "), std::string::npos)
        << command.name;
  }
  EXPECT_NE(said.out.find("Formats: bare boxed full memory"), std::string::npos) << said.out;
}

TEST_F(ToolRun, EveryCommandHasHelpWithAnExampleOfItself) {
  for (const tool::Command& command : tool::commands()) {
    const std::string name(command.name);
    const Said said = varve({name, "--help"});
    EXPECT_EQ(said.code, 0) << name;
    EXPECT_EQ(said.err, "") << name;
    const std::size_t examples = said.out.find("Examples:\n");
    ASSERT_NE(examples, std::string::npos) << name;
    EXPECT_NE(said.out.find("varve " + name + " my_world", examples), std::string::npos) << name;
  }
}

TEST_F(ToolRun, EveryCommandSaysWhatItLacks) {
  for (const tool::Command& command : tool::commands()) {
    const std::string name(command.name);
    const Said said = varve({name});
    EXPECT_EQ(said.code, 2) << name;
    EXPECT_EQ(said.out, "") << name;
    EXPECT_TRUE(said.err.starts_with("varve: ")) << said.err;
    EXPECT_NE(said.err.find("`varve " + name + " --help` says more\n"), std::string::npos);
    EXPECT_EQ(varve({name, "--nonsense"}).code, 2) << name;
  }
}

TEST_F(ToolRun, ASaveThatIsNotThereIsSaidByEveryCommand) {
  const std::string absent = path("absent");
  write_file(path("file"), "x");
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"info", absent},
                                             {"ls", absent},
                                             {"get", absent, "entity:1"},
                                             {"rm", absent, "entity:1"},
                                             {"put", absent, "entity:1", path("file")},
                                             {"verify", absent},
                                             {"digest", absent},
                                             {"convert", absent, path("copy"), "--to", "full"}}) {
    const Said said = varve(args);
    EXPECT_EQ(said.code, 3) << args[0];
    EXPECT_EQ(said.out, "") << args[0];
    EXPECT_TRUE(said.err.starts_with("varve: there is no save at " + absent)) << said.err;
  }
  EXPECT_FALSE(exists(absent));
  EXPECT_FALSE(exists(path("copy")));
}

TEST_F(ToolRun, AFileThatIsNoSaveIsSaid) {
  write_file(path("letter"), "dear reader");
  const Said said = varve({"info", path("letter")});
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.err.find("is no save of a format this program knows"), std::string::npos);
}

TEST_F(ToolRun, WithoutACommandThereIsHelpOnStandardError) {
  const Said none = varve({});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("usage: varve COMMAND"), std::string::npos);
  const Said unknown = varve({"dance"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, "varve: there is no command 'dance'; `varve --help` lists them\n");
}

TEST_F(ToolRun, ASaveThatIsBusyNamesItsHolder) {
  const std::string save = sample_save();
  const auto held = open_store(save);
  ASSERT_TRUE(held.ok());
  const Said said = varve({"put", save, "global:weather", "-"}, "sun");
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.err.find(std::to_string(getpid())), std::string::npos) << said.err;
}

TEST_F(ToolRun, ASaveInUseIsLookedAtAndNotChanged) {
  const std::string save = path("world");
  Commit commit;
  commit.chunks = {{.pos = ChunkPos(0, 3, -2, 0), .payload = Bytes::copy_of("stone")}};
  make_save(save, "nebula", commit);
  const auto held = open_store(save);
  ASSERT_TRUE(held.ok());
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"info", save},
                                             {"ls", save},
                                             {"get", save, "chunk:0,3,-2,0"},
                                             {"verify", save},
                                             {"digest", save},
                                             {"convert", save, path("copy"), "--to", "nebula"}}) {
    const Said said = varve(args);
    EXPECT_EQ(said.code, 0) << args[0] << ": " << said.err;
  }
  const std::vector<std::string> put = {"put", save, "chunk:0,0,0,0", "-"};
  for (const auto& args : {put, {"rm", save, "chunk:0,3,-2,0"}}) {
    const Said said = varve(args);
    EXPECT_EQ(said.code, 3) << args[0];
    EXPECT_NE(said.err.find(std::to_string(getpid())), std::string::npos) << said.err;
  }
}

// Every command that prints: whatever it would have returned, a lost output is "could not".
TEST_F(ToolRun, AnOutputThatCannotBeWrittenIsAFailure) {
  const std::string save = sample_save();
  int copy_count = 0;
  for (const std::string name :
       {"--help", "--version", "info", "ls", "get", "verify", "digest", "convert"}) {
    for (const int room : {0, 3}) {
      std::vector<std::string> args = {name};
      if (!name.starts_with("--")) args.push_back(save);
      if (name == "get") args.push_back("chunk:3,-2");
      if (name == "convert") {
        args.insert(args.end(), {path("copy" + std::to_string(++copy_count)), "--to", "full"});
      }
      FullDisk disk(room);
      std::istringstream in;
      std::ostream out(&disk);
      std::ostringstream err;
      tool::Streams streams{in, out, err};
      EXPECT_EQ(tool::run(args, streams), 3) << name << " with room for " << room;
      EXPECT_EQ(disk.taken(), room) << name;
    }
  }
}

// Some formats keep all records of a kind in one file. Where that is damaged, the others are
// there all the same.
TEST_F(ToolRun, AKindThatIsDamagedCostsThatKind) {
  const std::string save = path("world");
  Commit commit;
  commit.chunks = {{.pos = {0, 1, 2, 0}, .payload = Bytes::copy_of("rock")}};
  commit.globals = {{.name = "weather", .data = Bytes::copy_of("rain")}};
  make_save(save, "nebula", commit);
  write_file(save + "/entities.bin", "NSCD and then noise");
  const std::string damage = "entity:*: entities: " + save + "/entities.bin: ";
  const auto expect_damage = [&](const Said& said, const std::string& in) {
    EXPECT_EQ(said.code, 1) << said.err;
    EXPECT_NE(in.find(damage), std::string::npos) << in;
  };
  const Said info = varve({"info", save});
  expect_damage(info, info.out);
  EXPECT_NE(info.out.find("chunk                1"), std::string::npos) << info.out;
  const Said ls = varve({"ls", save});
  expect_damage(ls, ls.err);
  EXPECT_EQ(ls.out, "chunk:0,1,2,0\t4\nglobal:weather\t4\n");
  EXPECT_EQ(varve({"ls", save, "chunk"}).code, 0);
  const Said digest = varve({"digest", save});
  expect_damage(digest, digest.err);
  EXPECT_EQ(std::ranges::count(digest.out, '\n'), 2);
  EXPECT_EQ(varve({"verify", save}).code, 1);
  EXPECT_EQ(varve({"convert", save, path("whole"), "--to", "nebula"}).code, 3);
  EXPECT_FALSE(exists(path("whole")));
  const Said lossy = varve({"convert", save, path("rest"), "--to", "nebula", "--lossy"});
  expect_damage(lossy, lossy.out);
  EXPECT_EQ(varve({"ls", path("rest")}).out, ls.out);
}

}  // namespace
}  // namespace varve::test
