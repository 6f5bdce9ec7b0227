// What a commit says it did, and what it may be told meanwhile.
#include "contract/store_contract.h"

namespace varve::test {
namespace {

TEST_P(StoreContract, EachCommitMakesANewGeneration) {
  std::uint64_t last = store().generation();
  for (int i = 0; i < 5; ++i) {
    const CommitStats stats = must({.chunks = {chunk(at(1), std::to_string(i))}});
    EXPECT_GT(stats.generation, last);
    EXPECT_EQ(store().generation(), stats.generation);
    last = stats.generation;
  }
  reopen();
  EXPECT_EQ(store().generation(), last);
  EXPECT_GT(must({.chunks = {{at(1)}}}).generation, last);
}

TEST_P(StoreContract, SavingTheSameAgainWritesNothing) {
  Commit commit{.tick = 7, .chunks = {chunk(at(1), "one"), chunk(at(2), "")}};
  if (can().entities) commit.entities = {entity(7, owner(1), "seven")};
  if (can().players) commit.players = {player("ann", "a")};
  if (can().globals) commit.globals = {global("sky", "blue")};
  if (can().generator) commit.generator = GeneratorId{"flat", 1};
  must(commit);
  for (int i = 0; i < 2; ++i) {
    const Contents before = contents_of(store());
    const CommitStats again = must(commit);
    EXPECT_EQ(again.generation, before.generation);
    EXPECT_EQ(again.written_size, 0u);
    EXPECT_EQ(again.chunks.unchanged_count, 2u);
    EXPECT_EQ(again.chunks.put_count, 0u);
    EXPECT_EQ(again.entities.unchanged_count, commit.entities.size());
    EXPECT_EQ(again.players.unchanged_count, commit.players.size());
    EXPECT_EQ(again.globals.unchanged_count, commit.globals.size());
    EXPECT_EQ(contents_of(store()), before);
    reopen();
    EXPECT_EQ(contents_of(store()), before);
  }
}

TEST_P(StoreContract, AnEmptyCommitMakesNoGeneration) {
  must({.tick = 3, .chunks = {chunk(at(1), "x")}});
  const std::uint64_t before = store().generation();
  const CommitStats stats = must({.tick = 3});
  EXPECT_EQ(stats.generation, before);
  EXPECT_EQ(stats.written_size, 0u);
}

TEST_P(StoreContract, ATickAloneIsKept) {
  must({.tick = 3, .chunks = {chunk(at(1), "x")}});
  const std::uint64_t before = store().generation();
  EXPECT_GT(must({.tick = 4}).generation, before);
  EXPECT_EQ(store().tick(), 4u);
  must({.tick = ~std::uint64_t{0}});
  reopen();
  EXPECT_EQ(store().tick(), ~std::uint64_t{0});
}

TEST_P(StoreContract, TheStatisticsAddUp) {
  must({.chunks = {chunk(at(1), "same"), chunk(at(2), "old"), chunk(at(3), "gone")}});
  const Bytes fresh = payload(RecordKind::chunk, "fresh");
  const Bytes changed = payload(RecordKind::chunk, "changed");
  const CommitStats stats =
      must({.chunks = {chunk(at(1), "same"), {at(2), changed}, {at(3)}, {at(4), fresh}, {at(5)}}});
  EXPECT_EQ(stats.chunks.put_count, 2u);
  EXPECT_EQ(stats.chunks.unchanged_count, 1u);
  EXPECT_EQ(stats.chunks.erased_count, 1u);
  EXPECT_EQ(stats.chunks.put_size, fresh.size() + changed.size());
  EXPECT_GT(stats.written_size, 0u);
  EXPECT_EQ(stats.players.put_count + stats.globals.put_count + stats.entities.put_count, 0u);
}

TEST_P(StoreContract, TheStatisticsOfOtherKindsAddUp) {
  Commit first;
  Commit second;
  if (can().entities) {
    const auto home = owner(1);
    first.entities = {entity(1, home, "same"), entity(2, home, "old"), entity(3, home, "gone")};
    second.entities = {entity(1, home, "same"), entity(2, home, "new"), {3}, {4}};
  }
  if (can().players) {
    first.players = {player("1", "same"), player("2", "old"), player("3", "gone")};
    second.players = {player("1", "same"), player("2", "new"), {"3"}, {"4"}};
  }
  if (can().globals) {
    first.globals = {global("1", "same"), global("2", "old"), global("3", "gone")};
    second.globals = {global("1", "same"), global("2", "new"), {"3"}, {"4"}};
  }
  must(first);
  const CommitStats stats = must(second);
  const auto expect_one_of_each = [](const KindStats& kind, bool supported, std::size_t size) {
    const std::uint64_t one = supported ? 1 : 0;
    EXPECT_EQ(kind.put_count, one);
    EXPECT_EQ(kind.unchanged_count, one);
    EXPECT_EQ(kind.erased_count, one);
    EXPECT_EQ(kind.put_size, supported ? size : 0);
  };
  expect_one_of_each(stats.entities, can().entities, payload(RecordKind::entity, "new").size());
  expect_one_of_each(stats.players, can().players, payload(RecordKind::player, "new").size());
  expect_one_of_each(stats.globals, can().globals, payload(RecordKind::global, "new").size());
}

TEST_P(StoreContract, ACancelledCommitChangesNothing) {
  must({.chunks = {chunk(at(1), "before")}});
  const Contents before = contents_of(store());
  Progress progress;
  progress.cancel();
  Commit commit{.tick = 9};
  for (int i = 0; i < 2000; ++i) commit.chunks.push_back(chunk(at(i), "x"));
  const auto result = store().commit(commit, progress);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::cancelled);
  EXPECT_LT(progress.fraction(), 1);
  EXPECT_EQ(contents_of(store()), before);
  must(commit);
  reopen();
  EXPECT_EQ(store().tick(), 9u);
  EXPECT_EQ(store().read_chunk(at(1)).value(), payload(RecordKind::chunk, "x"));
}

TEST_P(StoreContract, TenThousandChunksGoInAtOnce) {
  Commit commit;
  for (int x = -50; x < 50; ++x) {
    for (int y = -50; y < 50; ++y) {
      commit.chunks.push_back(chunk(at(x, y), std::to_string(x) + " " + std::to_string(y)));
    }
  }
  EXPECT_EQ(must(commit).chunks.put_count, 10'000u);
  EXPECT_EQ(must(commit).chunks.unchanged_count, 10'000u);
  reopen();
  std::uint64_t count = 0;
  ASSERT_TRUE(store().list_chunks({}, [&](const ChunkInfo&) { return ++count > 0; }));
  EXPECT_EQ(count, 10'000u);
  EXPECT_EQ(store().read_chunk(at(-50, 49)).value(), payload(RecordKind::chunk, "-50 49"));
  for (ChunkChange& change : commit.chunks) change.payload.reset();
  EXPECT_EQ(must(commit).chunks.erased_count, 10'000u);
  EXPECT_TRUE(contents_of(store()).records.empty());
}

}  // namespace
}  // namespace varve::test
