#include "tool/record_copy.h"

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolRecordCopy : public ToolTest {
 protected:
  std::unique_ptr<Store> made(const std::string& name, const Commit& commit) {
    make_save(path(name), "onefile", commit);
    return open_store(path(name)).value();
  }
};

TEST_F(ToolRecordCopy, CommitsAreOfBoundedSize) {
  Commit commit{.tick = 3};
  for (int x = 0; x < 100; ++x) {
    commit.chunks.push_back(
        {.pos = ChunkPos(x, 0), .payload = Bytes::copy_of(std::string(872, 'x'))});
  }
  const auto source = made("source", commit);
  const auto target = find_format("onefile").value()->create(path("target")).value();
  // A record of 872 bytes counts as 1000, so that a commit holds ten.
  tool::RecordCopy copy(*source, *target, 10'000);
  Progress progress;
  ASSERT_TRUE(copy.scan().ok());
  ASSERT_TRUE(copy.copy(progress).ok());
  EXPECT_EQ(copy.report().kinds[0].count, 100u);
  // One generation for the tick, and one for each commit.
  EXPECT_EQ(target->generation(), 11u);
  EXPECT_TRUE(copy.compare(*target, progress).ok());
}

TEST_F(ToolRecordCopy, EveryDifferenceIsFound) {
  const auto source = made("source", sample());
  const auto target = find_format("onefile").value()->create(path("target")).value();
  tool::RecordCopy copy(*source, *target);
  Progress progress;
  ASSERT_TRUE(copy.scan().ok());
  ASSERT_TRUE(copy.copy(progress).ok());
  ASSERT_TRUE(copy.compare(*target, progress).ok());

  const auto expect_differs = [&](const Commit& change, const std::string& part) {
    ASSERT_TRUE(target->commit(change, progress).ok());
    const Status same = copy.compare(*target, progress);
    ASSERT_FALSE(same.ok()) << part;
    EXPECT_NE(same.error().message().find(part), std::string::npos) << same.error().message();
    Commit back = sample();
    back.tick = target->tick();
    back.globals.push_back({.name = "extra", .data = std::nullopt});
    ASSERT_TRUE(target->commit(back, progress).ok());
  };
  Commit change{.tick = 7};
  change.chunks = {{.pos = ChunkPos(3, -2), .payload = Bytes::copy_of("stome")}};
  expect_differs(change, "chunk:3,-2 has other bytes");
  change = {.tick = 7};
  change.entities = {{.id = 17, .value = EntityValue{ChunkPos(3, -1), Bytes::copy_of("cow")}}};
  expect_differs(change, "entity:17 has other bytes");
  change = {.tick = 7};
  change.players = {{.name = "Ann Lee 100%", .data = std::nullopt}};
  expect_differs(change, "1 of 7 records are not in it");
  change = {.tick = 7};
  change.globals = {{.name = "extra", .data = Bytes()}};
  expect_differs(change, "global:extra was not written");
  EXPECT_TRUE(copy.compare(*target, progress).ok());
  expect_differs({.tick = 8}, "the tick is 8, not 7");
}

}  // namespace
}  // namespace varve::test
