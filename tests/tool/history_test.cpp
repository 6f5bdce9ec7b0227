#include <nlohmann/json.hpp>

#include "tool/sample_arena.h"
#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolHistory : public ToolTest {
 protected:
  void SetUp() override {
    arena_ = path("arena");
    const Status made = make_arena(arena_);
    ASSERT_TRUE(made.ok()) << made.error().message();
  }
  // Runs a command on the arena; `args` follow the save.
  std::string said(std::string command, std::vector<std::string> args, int code = 0) {
    args.insert(args.begin(), {std::move(command), arena_});
    const Said told = varve(args);
    EXPECT_EQ(told.code, code) << told.err;
    if (code <= 1) {
      EXPECT_EQ(told.err, "");
    }
    return code <= 1 ? told.out : told.err;
  }
  std::string chunk() { return said("get", {"chunk:3,-2"}); }

  std::string arena_;
};

TEST_F(ToolHistory, NothingIsChangedBehindTheJournalsBack) {
  for (const auto& args : {std::vector<std::string>{"put", arena_, "global:weather", "-"},
                           std::vector<std::string>{"rm", arena_, "global:weather"}}) {
    const Said told = varve(args);
    EXPECT_EQ(told.code, 3);
    EXPECT_NE(told.err.find("has a journal"), std::string::npos) << told.err;
  }
  EXPECT_EQ(said("get", {"global:weather"}), "rain");
}

TEST_F(ToolHistory, TheLogHasALineATick) {
  EXPECT_EQ(said("log", {}),
            "1\t1 chunk, 1 entity, 1 global\n"
            "2\t1 edit\tann\n"
            "3\t1 edit\tbo\n"
            "4\t1 edit, 1 player\tann\n"
            "5\t1 entity\tbo\n");
  EXPECT_EQ(said("log", {"--from", "2", "--to", "3"}), "2\t1 edit\tann\n3\t1 edit\tbo\n");
  EXPECT_EQ(nlohmann::json::parse(said("log", {"--from", "4", "--to", "4", "--json"})),
            (nlohmann::json{{"tick", 4},
                            {"edits", 1},
                            {"chunks", 0},
                            {"entities", 0},
                            {"players", 1},
                            {"globals", 0},
                            {"authors", {"ann"}}}));
}

TEST_F(ToolHistory, ARecordHasALineAChange) {
  EXPECT_EQ(said("history", {"chunk:3,-2"}),
            "1\tput\n"
            "2\tedit 00000000686f757365\tann\n"
            "3\tedit 01000000585858\tbo\n"
            "4\tedit 08000000646f6f72\tann\n");
  EXPECT_EQ(said("history", {"entity:17"}), "1\tput 3 bytes in chunk:3,-2\n5\terased\tbo\n");
  EXPECT_EQ(said("history", {"player:ann"}), "4\tput 6 bytes\tann\n");
  EXPECT_EQ(said("history", {"global:weather"}), "1\tput 4 bytes\n");
  EXPECT_EQ(said("history", {"global:nothing"}), "");
  EXPECT_EQ(nlohmann::json::parse(said("history", {"entity:17", "--to", "1", "--json"})),
            (nlohmann::json{{"tick", 1}, {"what", "put"}, {"size", 3}, {"owner", "chunk:3,-2"}}));
}

TEST_F(ToolHistory, ACellHasALineAValue) {
  EXPECT_EQ(said("history", {"chunk:3,-2", "--cell", "1,1"}), "1\t2e\n2\t6f\tann\n3\t58\tbo\n");
  EXPECT_EQ(said("history", {"chunk:3,-2", "--cell", "7,1"}), "1\t2e\n");
  EXPECT_EQ(said("history", {"chunk:3,-2", "--cell", "1,1", "--from", "3", "--json"}),
            "{\"tick\":3,\"what\":\"set\",\"value\":\"58\",\"author\":\"bo\"}\n");
  EXPECT_NE(said("history", {"chunk:3,-2", "--cell", "1"}, 3).find("is no cell"),
            std::string::npos);
}

TEST_F(ToolHistory, TicksAreCompared) {
  EXPECT_EQ(said("diff", {"--from", "1", "--to", "5"}, 1),
            "chunk:3,-2\t12\t12\n"
            "entity:17\t3\tnone\n"
            "player:ann\tnone\t6\n");
  EXPECT_EQ(said("diff", {"--from", "5", "--to", "1", "--box", "3,-2:3,-2"}, 1),
            "chunk:3,-2\t12\t12\n"
            "entity:17\tnone\t3\n");
  EXPECT_EQ(said("diff", {"--from", "1", "--to", "5", "--box", "0,0:1,1"}), "");
  EXPECT_EQ(said("diff", {"--from", "3", "--to", "3"}), "");
  EXPECT_EQ(said("diff", {"--from", "4", "--to", "5", "--json"}, 1),
            "{\"key\":\"entity:17\",\"size_before\":3,\"size_after\":null}\n");
}

TEST_F(ToolHistory, SavesAreCompared) {
  const std::string a = path("a"), b = path("b");
  Commit commit = sample();
  make_save(a, "full", commit);
  commit.chunks[0].payload = Bytes::copy_of("STONE");
  commit.entities[0].value->owner = ChunkPos(10, 4);
  commit.globals.clear();
  commit.players.push_back({.name = "Bo", .data = Bytes::copy_of("x")});
  make_save(b, "onefile", commit);
  const Said same = varve({"diff", a, a});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, "");
  const Said said = varve({"diff", a, b});
  EXPECT_EQ(said.code, 1) << said.err;
  EXPECT_EQ(said.out,
            "chunk:3,-2\t5\t5\n"
            "entity:17\t3\t3\n"
            "player:Bo\tnone\t1\n"
            "global:weather\t4\tnone\n");
}

TEST_F(ToolHistory, ARollbackOfAnAuthorLeavesTheOthers) {
  const std::string plan = "chunk:3,-2\t1 cell\nentity:17\tput 3 bytes\n";
  EXPECT_EQ(said("rollback", {"--to", "1", "--author", "bo", "--dry-run"}), plan);
  EXPECT_EQ(chunk(), "hXXXe...door");
  EXPECT_EQ(said("rollback", {"--to", "1", "--author", "bo"}), plan);
  EXPECT_EQ(chunk(), "house...door");
  EXPECT_EQ(said("get", {"entity:17"}), "cow");
  EXPECT_EQ(said("log", {"--from", "6"}), "6\t1 edit, 1 entity\n");

  EXPECT_EQ(said("rollback", {"--to", "5"}), "chunk:3,-2\tput 12 bytes\nentity:17\terased\n");
  EXPECT_EQ(chunk(), "hXXXe...door");
  EXPECT_EQ(said("rollback", {"--to", "5"}), "") << "it is done";
}

TEST_F(ToolHistory, ARollbackOfAPartLeavesTheRest) {
  EXPECT_EQ(said("rollback", {"--to", "2", "--box", "0,0:9,9"}), "");
  EXPECT_EQ(said("rollback", {"--to", "2", "--chunk", "3,-2", "--json"}),
            "{\n"
            "  \"save\": \"" +
                arena_ +
                "\",\n"
                "  \"to\": 2,\n"
                "  \"tick\": 6,\n"
                "  \"records\": [\n"
                "    {\n"
                "      \"key\": \"chunk:3,-2\",\n"
                "      \"what\": \"put 12 bytes\"\n"
                "    },\n"
                "    {\n"
                "      \"key\": \"entity:17\",\n"
                "      \"what\": \"put 3 bytes\"\n"
                "    }\n"
                "  ],\n"
                "  \"problems\": []\n"
                "}\n");
  EXPECT_EQ(chunk(), "house.......");
  EXPECT_EQ(said("get", {"player:ann"}), "hungry");
}

TEST_F(ToolHistory, ASaveWithoutAJournalHasNoPast) {
  const std::string save = sample_save("varve");
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"log", save},
                                             {"history", save, "entity:17"},
                                             {"diff", save, "--from", "1", "--to", "2"},
                                             {"rollback", save, "--to", "1"},
                                             {"rollback", save, "--to", "1", "--dry-run"}}) {
    const Said said = varve(args);
    EXPECT_EQ(said.code, 3) << args[0];
    EXPECT_NE(said.err.find("has no journal"), std::string::npos) << said.err;
  }
  EXPECT_FALSE(exists(save + ".journal"));
}

TEST_F(ToolHistory, WhatMakesNoSenseIsSaid) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"log", arena_, "--from", "x"},
                                             {"log", arena_, "--from", "3", "--to", "2"},
                                             {"log", arena_, "--to", "18446744073709551615"},
                                             {"history", arena_, "stone"},
                                             {"history", arena_, "entity:17", "--cell", "1,1"},
                                             {"diff", arena_},
                                             {"diff", arena_, "--from", "1"},
                                             {"diff", arena_, arena_, "--from", "1", "--to", "2"},
                                             {"diff", arena_, arena_, "--space", "x"},
                                             {"rollback", arena_},
                                             {"rollback", arena_, "--to", "-1"},
                                             {"rollback", arena_, "--to", "1", "--box", "1"},
                                             {"rollback", arena_, "--to", "1", "--chunk", "a"},
                                             {"rollback", arena_, "--to", "1", "--author", ""}}) {
    const Said said = varve(args);
    EXPECT_EQ(said.code, 2) << args[0] << ' ' << args.back() << said.err;
    EXPECT_EQ(said.out, "");
  }
  EXPECT_NE(said("diff", {"--from", "1", "--to", "99"}, 3).find("the latest is 5"),
            std::string::npos);
  EXPECT_NE(said("rollback", {"--to", "99"}, 3).find("the latest is 5"), std::string::npos);
}

}  // namespace
}  // namespace varve::test
