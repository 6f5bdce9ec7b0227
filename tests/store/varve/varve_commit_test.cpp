// What a commit writes, and what becomes of one whose write did not succeed.
#include <gtest/gtest.h>

#include <algorithm>

#include "sample_store.h"
#include "sharing_sample.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Commit everything() {
  return {.tick = 5,
          .chunks = {chunk(ChunkPos(1, 2), "stone"), chunk(ChunkPos(1, 2, 3), "")},
          .entities = {entity(1, ChunkPos(1, 2), "sheep"), entity(2, std::nullopt, "moon")},
          .players = {{"ann", Bytes::copy_of("here")}},
          .globals = {{std::string(255, 'g'), Bytes::copy_of("x")}},
          .generator = GeneratorId{"hills", 3}};
}

TEST(VarveCommit, IsOneBatchWithTheHeaderInIt) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  const std::uint64_t before = disk->kept->sequence();
  const CommitStats stats = commit(*store, everything());
  EXPECT_EQ(disk->write_count, 1);
  EXPECT_EQ(disk->kept->sequence(), before + 1);
  EXPECT_GT(stats.written_size, 0u);
}

TEST(VarveCommit, TheSameOnceMoreWritesNothing) {
  const auto disk = new_disk();
  for (const SpeedClass speed : {SpeedClass::raw, SpeedClass::fast, SpeedClass::small}) {
    // Other options are no reason to write either.
    const auto store = open_sample(disk, {.speed = speed});
    commit(*store, everything());
    const int writes = disk->write_count;
    const std::uint64_t sequence = disk->kept->sequence();
    const CommitStats stats = commit(*store, everything());
    EXPECT_EQ(stats.written_size, 0u);
    EXPECT_EQ(stats.chunks.unchanged_count, 2u);
    EXPECT_EQ(stats.entities.unchanged_count, 2u);
    EXPECT_EQ(disk->write_count, writes);
    EXPECT_EQ(disk->kept->sequence(), sequence);
    EXPECT_EQ(stats.generation, 1u);
    // Nor is the erasure of what is not there.
    commit(*store, {.chunks = {{ChunkPos(9, 9), std::nullopt}}, .entities = {{77, std::nullopt}}});
    EXPECT_EQ(disk->write_count, writes);
  }
  EXPECT_EQ(disk->write_count, 1);
}

// What is stored as it is goes to the backend in two pieces, and is compared in one. Nobody
// remembers what it was after the store was opened anew.
TEST(VarveCommit, ALargeChunkThatIsStoredAsItIsIsRecognised) {
  const auto disk = new_disk();
  const Bytes large = noise_of(1, 20'000);
  const ChunkPos pos(1, 2);
  for (const SpeedClass speed : {SpeedClass::raw, SpeedClass::fast, SpeedClass::raw}) {
    const auto store = open_sample(disk, {.speed = speed});
    for (int i = 0; i < 2; ++i) commit(*store, {.tick = 1, .chunks = {{pos, large}}});
    EXPECT_EQ(disk->write_count, 1);
    EXPECT_EQ(*store->read_chunk(pos).value(), large);
  }
  EXPECT_EQ(std::count(disk->written_bodies.begin(), disk->written_bodies.end(), large.data()), 1)
      << "it was copied on its way";
  const auto store = open_sample(disk, {.speed = SpeedClass::raw});
  commit(*store, {.tick = 2, .chunks = {{pos, noise_of(2, 20'000)}}});
  EXPECT_EQ(disk->write_count, 2);
  EXPECT_EQ(*store->read_chunk(pos).value(), noise_of(2, 20'000));
}

// What is remembered of a chunk is what the last commit tried to store.
TEST(VarveCommit, AfterOneThatFailedWhatItHadIsStillNotThere) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  const ChunkPos pos(1, 2);
  commit(*store, {.tick = 1, .chunks = {chunk(pos, "stone")}});
  disk->next_outcome = WriteOutcome::failed;
  ASSERT_FALSE(try_commit(*store, {.tick = 2, .chunks = {chunk(pos, "earth")}}));
  EXPECT_EQ(store->read_chunk(pos).value()->text(), "stone");
  EXPECT_EQ(commit(*store, {.tick = 2, .chunks = {chunk(pos, "earth")}}).chunks.put_count, 1u);
  EXPECT_EQ(store->read_chunk(pos).value()->text(), "earth");
}

// A chunk that is erased, or changed under another one's eyes, is saved as any other.
TEST(VarveCommit, WhatIsRememberedOfAChunkNeverKeepsItFromBeingSaved) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  const ChunkPos pos(1, 2);
  commit(*store, {.tick = 1, .chunks = {chunk(pos, "stone")}});
  commit(*store, {.tick = 2, .chunks = {{pos, std::nullopt}}});
  EXPECT_EQ(commit(*store, {.tick = 3, .chunks = {chunk(pos, "stone")}}).chunks.put_count, 1u);
  EXPECT_EQ(store->read_chunk(pos).value()->text(), "stone");
  for (const char* text : {"earth", "stone", "earth"}) {
    commit(*store, {.tick = store->tick() + 1, .chunks = {chunk(pos, text)}});
    EXPECT_EQ(store->read_chunk(pos).value()->text(), text);
  }
}

TEST(VarveCommit, OneThatFailedChangedNothingAndTheNextSucceeds) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  disk->next_outcome = WriteOutcome::failed;
  const auto failed = try_commit(*store, everything());
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("the disk went away"), std::string::npos);
  EXPECT_EQ(store->generation(), 0u);
  EXPECT_EQ(store->tick(), 0u);
  EXPECT_EQ(store->generator(), std::nullopt);
  EXPECT_EQ(commit(*store, everything()).generation, 1u);
  EXPECT_TRUE(verify(*store).clean());
}

TEST(VarveCommit, AfterAnOutcomeNobodyKnowsItTakesNoMore) {
  for (const WriteOutcome outcome : {WriteOutcome::uncertain, WriteOutcome::fenced}) {
    for (const bool happens : {false, true}) {
      const auto disk = new_disk();
      const auto store = open_sample(disk);
      disk->next_outcome = outcome;
      disk->next_happens = happens;
      EXPECT_FALSE(try_commit(*store, everything()));
      const int writes = disk->write_count;
      for (int i = 0; i < 2; ++i) {
        const auto refused = try_commit(*store, everything());
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code(), ErrorCode::io);
        EXPECT_NE(refused.error().message().find("open it again"), std::string::npos);
        EXPECT_NE(refused.error().message().find("the disk went away"), std::string::npos);
      }
      EXPECT_FALSE(store->quarantine(ChunkPos(1, 2)));
      EXPECT_EQ(disk->write_count, writes);
      EXPECT_TRUE(store->close());
      const auto again = open_sample(disk);
      EXPECT_EQ(again->generation(), happens ? 1u : 0u);
      EXPECT_EQ(again->tick(), happens ? 5u : 0u);
      EXPECT_EQ(again->read_chunk(ChunkPos(1, 2)).value().has_value(), happens);
      commit(*again, everything());
      EXPECT_TRUE(verify(*again).clean());
    }
  }
}

TEST(VarveCommit, SoDoesAQuarantine) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  commit(*store, everything());
  disk->next_outcome = WriteOutcome::uncertain;
  EXPECT_FALSE(store->quarantine(ChunkPos(1, 2)));
  EXPECT_FALSE(try_commit(*store, {.tick = 9}));
}

TEST(VarveCommit, ABackendThatIsAtomicOnlyInPartsIsRefused) {
  class Parts final : public Backend {
   public:
    Parts() { traits_.atomic_scope = AtomicScope::prefix; }
    std::uint64_t sequence() const override { return 0; }
    Result<std::optional<Bytes>> get(ByteView) const override { return std::nullopt; }
    std::vector<Result<std::optional<Bytes>>> multi_get(const std::vector<Bytes>&) const override {
      return {};
    }
    Result<RangePage> range(const RangeQuery&) const override { return RangePage(); }
    const BackendTraits& traits() const override { return traits_; }
    BackendStats stats() const override { return {}; }
    WriteResult write(const WriteBatch&) override { return WriteResult(1); }
    Status sync() override { return {}; }
    Result<std::unique_ptr<ReadView>> snapshot() const override { return io_error("none"); }
    Result<std::vector<Error>> verify(VerifyScope) const override { return std::vector<Error>(); }
    Status close() override { return {}; }

   private:
    BackendTraits traits_;
  };
  const auto opened =
      VarveStore::open({.path = "x", .format = "varve", .backend = std::make_unique<Parts>()});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace varve
