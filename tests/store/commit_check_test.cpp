#include "store/commit_check.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }

Capabilities everything() {
  Capabilities can;
  can.format = "sample";
  return can;
}

// The message must name the record and, where the format is to blame, the format.
void expect_refused(const Commit& commit, const Capabilities& can, ErrorCode code,
                    std::vector<std::string> words) {
  const Status status = check_commit(commit, can, 10);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), code) << status.error().message();
  if (code == ErrorCode::unsupported) words.emplace_back("sample");
  for (const std::string& word : words) {
    EXPECT_NE(status.error().message().find(word), std::string::npos)
        << word << " is not in: " << status.error().message();
  }
}

Commit chunk_commit(const ChunkPos& pos) { return {.tick = 10, .chunks = {{pos, bytes("x")}}}; }
Commit entity_commit(std::optional<ChunkPos> owner) {
  return {.tick = 10, .entities = {{7, EntityValue{owner, bytes("x")}}}};
}

TEST(CommitCheck, TakesWhatTheFormatCanCarry) {
  Commit commit = chunk_commit(ChunkPos(1, 2, 3, 4).in(Space::named("nether").value()));
  commit.entities = {{1, EntityValue{}}, {2, EntityValue{ChunkPos(1), bytes("x")}}, {3, {}}};
  commit.players = {{"..", bytes("x")}, {"a/b", std::nullopt}};
  commit.globals = {{"..", bytes("x")}};
  commit.generator = GeneratorId{"flat", 2};
  commit.backup_count = 3;
  EXPECT_TRUE(check_commit(commit, everything(), 10));
  EXPECT_TRUE(check_commit({.tick = 11}, everything(), 10));
}

TEST(CommitCheck, ATickThatRunsBackwardsNamesBoth) {
  expect_refused({.tick = 9}, everything(), ErrorCode::invalid_argument, {"tick 9", "tick 10"});
}

TEST(CommitCheck, AKeyTwiceIsNamed) {
  const auto code = ErrorCode::invalid_argument;
  Commit commit{.tick = 10, .chunks = {{ChunkPos(1, 2), bytes("a")}, {ChunkPos(1, 2), {}}}};
  expect_refused(commit, everything(), code, {"chunk:1,2", "twice"});
  commit = {.tick = 10, .entities = {{7, {}}, {8, {}}, {7, {}}}};
  expect_refused(commit, everything(), code, {"entity:7", "twice"});
  commit = {.tick = 10, .players = {{"ann", {}}, {"ann", {}}}};
  expect_refused(commit, everything(), code, {"player:ann", "twice"});
  commit = {.tick = 10, .globals = {{"sky", {}}, {"sky", {}}}};
  expect_refused(commit, everything(), code, {"global:sky", "twice"});
}

// Few are compared in another way than many; around the place where that changes.
TEST(CommitCheck, OneOfSomeTwiceIsFound) {
  for (int count = 2; count <= 20; ++count) {
    Commit commit{.tick = 10};
    for (int x = 0; x < count; ++x) commit.chunks.push_back({ChunkPos(x, 0), bytes("x")});
    EXPECT_TRUE(check_commit(commit, everything(), 10)) << count;
    for (int twice = 0; twice + 1 < count; ++twice) {
      Commit bad = commit;
      bad.chunks.back().pos = ChunkPos(twice, 0);
      const std::string key = "chunk:" + std::to_string(twice) + ",0";
      expect_refused(bad, everything(), ErrorCode::invalid_argument, {key.c_str(), "twice"});
    }
  }
}

TEST(CommitCheck, OneOfManyTwiceIsFound) {
  Commit commit{.tick = 10};
  for (int x = 0; x < 100; ++x) {
    for (int y = 0; y < 100; ++y) commit.chunks.push_back({ChunkPos(x, y), bytes("x")});
  }
  EXPECT_TRUE(check_commit(commit, everything(), 10));
  commit.chunks.push_back({ChunkPos(42, 17), bytes("y")});
  expect_refused(commit, everything(), ErrorCode::invalid_argument, {"chunk:42,17"});
}

TEST(CommitCheck, BadNamesAreRefusedAlsoInErasures) {
  const auto code = ErrorCode::invalid_argument;
  expect_refused({.tick = 10, .players = {{"", bytes("x")}}}, everything(), code, {"player"});
  expect_refused({.tick = 10, .globals = {{"a\nb", {}}}}, everything(), code, {"global"});
}

TEST(CommitCheck, APositionThatIsNoneIsRefused) {
  const auto code = ErrorCode::invalid_argument;
  ChunkPos pos(1, 2);
  pos.coordinates[3] = 1;
  expect_refused(chunk_commit(pos), everything(), code, {"chunk:1,2"});
  expect_refused(entity_commit(pos), everything(), code, {"entity:7"});
  pos = ChunkPos(1, 2);
  pos.coordinate_count = 0;
  expect_refused(chunk_commit(pos), everything(), code, {"chunk:"});
  pos.coordinate_count = 5;
  expect_refused(chunk_commit(pos), everything(), code, {"chunk:"});
}

TEST(CommitCheck, WhatAFormatCannotCarryIsRefusedByName) {
  const auto code = ErrorCode::unsupported;
  Capabilities can = everything();
  can.coordinate_count_min = can.coordinate_count_max = 2;
  expect_refused(chunk_commit(ChunkPos(1)), can, code, {"chunk:1"});
  expect_refused(chunk_commit(ChunkPos(1, 2, 3)), can, code, {"chunk:1,2,3", "not 3"});
  expect_refused(entity_commit(ChunkPos(1, 2, 3)), can, code, {"entity:7"});

  can = everything();
  can.spaces = can.entities = can.players = can.globals = can.generator = can.backups = false;
  const ChunkPos elsewhere = ChunkPos(1, 2).in(Space::named("nether").value());
  expect_refused(chunk_commit(elsewhere), can, code, {"chunk:nether/1,2", "spaces"});
  expect_refused(entity_commit({}), can, code, {"entity:7", "entities"});
  expect_refused({.tick = 10, .players = {{"ann", bytes("")}}}, can, code, {"player:ann"});
  expect_refused({.tick = 10, .globals = {{"sky", bytes("")}}}, can, code, {"global:sky"});
  expect_refused({.tick = 10, .generator = GeneratorId{"flat", 1}}, can, code, {"flat"});
  expect_refused({.tick = 10, .backup_count = 1}, can, code, {"backups"});

  can = everything();
  can.entities_without_owner = false;
  expect_refused(entity_commit({}), can, code, {"entity:7", "owner"});
  EXPECT_TRUE(check_commit(entity_commit(ChunkPos(1)), can, 10));
}

TEST(CommitCheck, ErasingWhatCannotBeThereIsNoError) {
  Capabilities can = everything();
  can.coordinate_count_max = 2;
  can.spaces = can.entities = can.players = can.globals = can.backups = false;
  const Commit commit{.tick = 10,
                      .chunks = {{ChunkPos(1, 2, 3), {}}},
                      .entities = {{7, {}}},
                      .players = {{"ann", {}}},
                      .globals = {{"sky", {}}},
                      .backup_count = 0};
  EXPECT_TRUE(check_commit(commit, can, 10));
}

TEST(CommitCheck, ATooLargePayloadIsNamedWithBothSizes) {
  Capabilities can = everything();
  can.payload_size_max = 3;
  const auto code = ErrorCode::unsupported;
  const Bytes four = bytes("four");
  expect_refused({.tick = 10, .chunks = {{ChunkPos(1), four}}}, can, code, {"chunk:1", "4", "3"});
  expect_refused({.tick = 10, .entities = {{7, EntityValue{{}, four}}}}, can, code, {"entity:7"});
  expect_refused({.tick = 10, .players = {{"ann", four}}}, can, code, {"player:ann"});
  expect_refused({.tick = 10, .globals = {{"sky", four}}}, can, code, {"global:sky"});
}

}  // namespace
}  // namespace varve
