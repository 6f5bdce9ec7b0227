// Chunks with the same payload: when they come to share it, and when they let go of it.
#include <gtest/gtest.h>

#include "sharing_sample.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(Sharing, IsOffUnlessAskedForAndThenCostsNothing) {
  int look_counts[2];
  for (const bool is_asked : {false, true}) {
    const auto disk = new_disk();
    const auto store = open_sample(disk, is_asked ? kSharing : VarveOptions());
    commit(*store, same_chunks(0, 4, noise_of(1)));
    EXPECT_EQ(disk->count_of(KeyTag::shared_payload), is_asked ? 1u : 0u);
    EXPECT_EQ(says_shared(*disk), is_asked);
    disk->look_count = 0;
    commit(*store, same_chunks(2, 6, noise_of(2)));
    Commit erased;
    for (int x = 0; x < 6; ++x) erased.chunks.push_back({at(x), std::nullopt});
    commit(*store, erased);
    look_counts[is_asked ? 1 : 0] = disk->look_count;
    expect_clean(*store);
  }
  // One look at each of the ten chunks but the two that were saved just before.
  EXPECT_EQ(look_counts[0], 8);
  EXPECT_GT(look_counts[1], 10);
}

TEST(Sharing, TenThousandChunksTakeLittleMoreThanOne) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  const Bytes payload = noise_of(1, 8 << 10);
  for (int from = 0; from < 10'000; from += 1000) {
    commit(*store, same_chunks(from, from + 1000, payload));
  }
  const std::uint64_t size = disk->kept->stats().live_size;
  // 28 bytes for a reference, and its key.
  EXPECT_LT(size, payload.size() + 10'000 * 45 + 1000);
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 1u);
  EXPECT_EQ(count_at(*disk, reference_at(*disk, 0).hash), 10'000u);
  for (const int x : {0, 999, 1000, 9999}) EXPECT_EQ(store->read_chunk(at(x)).value(), payload);
  std::uint64_t listed_size = 0;
  ASSERT_TRUE(store->list_chunks({}, [&](const ChunkInfo& info) {
    listed_size += info.payload_size;
    return true;
  }));
  EXPECT_EQ(listed_size, 10'000 * payload.size());
  expect_clean(*store);
}

TEST(Sharing, TheSecondChunkMakesReferencesOfBoth) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  commit(*store, same_chunks(0, 1, noise_of(1)));
  EXPECT_FALSE(is_shared(*disk, 0));
  EXPECT_FALSE(says_shared(*disk)) << "nothing refers to anything yet";
  const CommitStats stats = commit(*store, same_chunks(1, 2, noise_of(1)));
  EXPECT_EQ(stats.chunks.put_count, 1u);
  EXPECT_TRUE(is_shared(*disk, 0));
  EXPECT_TRUE(is_shared(*disk, 1));
  EXPECT_EQ(reference_at(*disk, 0).hash, reference_at(*disk, 1).hash);
  EXPECT_EQ(count_at(*disk, reference_at(*disk, 0).hash), 2u);
  EXPECT_TRUE(says_shared(*disk));
  for (const int x : {0, 1}) EXPECT_EQ(store->read_chunk(at(x)).value(), noise_of(1));
  expect_clean(*store);
}

TEST(Sharing, WhatIsSharedIsFoundAfterReopeningWithoutAnyMemoryOfIt) {
  const auto disk = new_disk();
  commit(*open_sample(disk, kSharing), same_chunks(0, 2, noise_of(1)));
  // Too little for a single sighting.
  const auto store = open_sample(disk, {.sharing_memory_size = 1});
  commit(*store, same_chunks(5, 6, noise_of(1)));
  EXPECT_EQ(count_at(*disk, reference_at(*disk, 5).hash), 3u);
  expect_clean(*store);
}

TEST(Sharing, AChunkThatIsSavedAgainUnchangedIsRemembered) {
  const auto disk = new_disk();
  commit(*open_sample(disk), same_chunks(0, 1, noise_of(1)));
  const auto store = open_sample(disk, kSharing);
  EXPECT_EQ(commit(*store, same_chunks(0, 1, noise_of(1))).written_size, 0u);
  commit(*store, same_chunks(1, 2, noise_of(1)));
  EXPECT_TRUE(is_shared(*disk, 0));
  EXPECT_TRUE(is_shared(*disk, 1));
  expect_clean(*store);
}

TEST(Sharing, TheSameOnceMoreWritesNothingWhateverTheOptions) {
  const auto disk = new_disk();
  commit(*open_sample(disk, kSharing), same_chunks(0, 5, noise_of(1)));
  const int writes = disk->write_count;
  for (const SpeedClass speed : {SpeedClass::raw, SpeedClass::fast, SpeedClass::small}) {
    for (const std::uint64_t memory_size : {0, 1 << 16}) {
      const auto store = open_sample(disk, {.speed = speed, .sharing_memory_size = memory_size});
      const CommitStats stats = commit(*store, same_chunks(0, 5, noise_of(1)));
      EXPECT_EQ(stats.chunks.unchanged_count, 5u);
      EXPECT_EQ(stats.written_size, 0u);
    }
  }
  EXPECT_EQ(disk->write_count, writes);
}

TEST(Sharing, OverwritingAndErasingLetGoAndTheLastOneFreesIt) {
  for (const bool is_on : {true, false}) {
    const auto disk = new_disk();
    commit(*open_sample(disk, kSharing), same_chunks(0, 4, noise_of(1)));
    const Hash128 hash = reference_at(*disk, 0).hash;
    // A save that shares is kept right also by who does not want to.
    const auto store = open_sample(disk, is_on ? kSharing : VarveOptions());
    commit(*store, same_chunks(0, 1, noise_of(2)));
    EXPECT_EQ(count_at(*disk, hash), 3u);
    commit(*store, {.chunks = {{at(1), std::nullopt}}});
    EXPECT_EQ(count_at(*disk, hash), 2u);
    commit(*store, {.chunks = {chunk(at(2), "small")}});
    EXPECT_EQ(count_at(*disk, hash), 1u);
    EXPECT_EQ(store->read_chunk(at(3)).value(), noise_of(1));
    expect_clean(*store);
    // Other chunks that are saved have nothing to do with it.
    commit(*store, {.chunks = {{at(1), std::nullopt}, chunk(at(9), "x")}});
    EXPECT_EQ(count_at(*disk, hash), 1u);
    commit(*store, {.chunks = {{at(3), std::nullopt}}});
    EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 0u);
    EXPECT_EQ(disk->count_of(KeyTag::shared_count), 0u);
    expect_clean(*store);
  }
}

TEST(Sharing, OneCommitMayLeaveAndJoinTheSamePayload) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  commit(*store, same_chunks(0, 2, noise_of(1)));
  const Hash128 hash = reference_at(*disk, 0).hash;
  // As many as before, but others.
  commit(*store, {.chunks = {{at(0), std::nullopt},
                             {at(1), noise_of(2)},
                             {at(2), noise_of(1)},
                             {at(3), noise_of(1)}}});
  EXPECT_EQ(count_at(*disk, hash), 2u);
  EXPECT_TRUE(is_shared(*disk, 2));
  // The one that was seen with it is overwritten by the commit that has it again.
  commit(*store, {.chunks = {{at(1), noise_of(3)}, {at(4), noise_of(2)}}});
  EXPECT_FALSE(is_shared(*disk, 4));
  EXPECT_EQ(store->read_chunk(at(1)).value(), noise_of(3));
  EXPECT_EQ(store->read_chunk(at(4)).value(), noise_of(2));
  expect_clean(*store);
}

TEST(Sharing, SmallPayloadsAreNotWorthIt) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  commit(*store, same_chunks(0, 4, noise_of(1, 100)));
  // Large ones of which little is left are small.
  commit(*store, same_chunks(4, 8, Bytes::copy_of(std::string(5000, 'a'))));
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 0u);
  // From where on it is smaller: two chunks never take more than without.
  for (std::size_t size = 100; size < 160; ++size) {
    std::uint64_t sizes[2];
    for (const bool is_on : {false, true}) {
      const auto pair = new_disk();
      commit(*open_sample(pair, is_on ? kSharing : VarveOptions()),
             same_chunks(0, 2, noise_of(size, size)));
      sizes[is_on ? 1 : 0] = pair->kept->stats().live_size;
    }
    EXPECT_LE(sizes[1], sizes[0]) << size;
  }
}

TEST(Sharing, OnlyChunksShare) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  const Bytes payload = noise_of(1);
  commit(*store, {.entities = {{1, EntityValue{at(0), payload}}, {2, EntityValue{at(0), payload}}},
                  .players = {{"ann", payload}, {"bob", payload}},
                  .globals = {{"sky", payload}}});
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 0u);
}

TEST(Sharing, ChunksOfAllSpacesShare) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  const Space moon = Space::named("moon").value();
  commit(*store, {.chunks = {{ChunkPos(1, 2, 3, 4), noise_of(1)}, {at(0).in(moon), noise_of(1)}}});
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 1u);
  // Found by the sighting of the one with the longest key.
  commit(*store, {.chunks = {{ChunkPos(-1, -2, -3, -4), noise_of(2)}}});
  commit(*store, {.chunks = {{at(1), noise_of(2)}}});
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 2u);
  EXPECT_EQ(store->read_chunk(ChunkPos(-1, -2, -3, -4)).value(), noise_of(2));
  expect_clean(*store);
}

TEST(Sharing, BytesWithTheSameHashAreComparedAndStoredApart) {
  const ContentHash always_the_same = [](ByteView) { return Hash128{.high = 7, .low = 7}; };
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing, always_the_same);
  // One after the other, and beside each other in one commit.
  commit(*store, same_chunks(0, 1, noise_of(1)));
  commit(*store, same_chunks(1, 2, noise_of(2)));
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 0u);
  commit(*store, {.chunks = {{at(2), noise_of(3)},
                             {at(3), noise_of(4)},
                             {at(4), noise_of(3)},
                             {at(5), noise_of(2)}}});
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 1u);
  EXPECT_FALSE(is_shared(*disk, 3));
  EXPECT_EQ(count_at(*disk, {.high = 7, .low = 7}), 2u);
  // Instead of one that is shared, under the same hash.
  commit(*store, same_chunks(2, 3, noise_of(5)));
  EXPECT_EQ(count_at(*disk, {.high = 7, .low = 7}), 1u);
  const std::uint64_t numbers[] = {1, 2, 5, 4, 3, 2};
  for (int x = 0; x < 6; ++x) {
    EXPECT_EQ(store->read_chunk(at(x)).value(), noise_of(numbers[x])) << x;
  }
  expect_clean(*store);
}

TEST(Sharing, DeltasShareWhereTheGeneratorMakesTheSame) {
  class Flat final : public Generator {
   public:
    GeneratorId id() const override { return {"flat", 1}; }
    // Two kinds of ground.
    Result<Bytes> generate(const ChunkPos& pos) const override {
      return noise_of(pos[0] < 10 ? 1 : 2, 4000);
    }
  };
  const auto edited = [](const Bytes& ground) {
    std::string text(ground.text());
    for (std::size_t i = 1000; i < 1200; ++i) text[i] = static_cast<char>(i * i >> 3);
    return Bytes::copy_of(text);
  };
  VarveOptions options = kSharing;
  options.deltas = true;
  const auto disk = new_disk();
  const auto store = open_sample(disk, options);
  store->use_generator(std::make_shared<Flat>());
  Commit all;
  for (const int x : {1, 2, 3}) all.chunks.push_back({at(x), edited(noise_of(1, 4000))});
  for (const int x : {11, 12}) all.chunks.push_back({at(x), edited(noise_of(2, 4000))});
  commit(*store, all);
  // The edits are the same; what they are made to is not.
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 2u);
  EXPECT_LT(disk->get(shared_payload_key(reference_at(*disk, 1).hash)).size(), 400u);
  EXPECT_EQ(store->read_chunk(at(2)).value(), edited(noise_of(1, 4000)));
  EXPECT_EQ(store->read_chunk(at(12)).value(), edited(noise_of(2, 4000)));
  EXPECT_EQ(commit(*store, all).written_size, 0u);
  expect_clean(*store);
  const auto without = open_sample(disk);
  EXPECT_EQ(without->read_chunk(at(2)).error().code(), ErrorCode::unsupported);
}

TEST(Sharing, ACommitThatFailedLeavesNothingBehind) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  disk->next_outcome = WriteOutcome::failed;
  EXPECT_FALSE(try_commit(*store, same_chunks(0, 1, noise_of(1))));
  // It was seen there, but is not there.
  commit(*store, same_chunks(1, 2, noise_of(1)));
  EXPECT_FALSE(is_shared(*disk, 1));
  disk->next_outcome = WriteOutcome::failed;
  EXPECT_FALSE(try_commit(*store, same_chunks(2, 4, noise_of(1))));
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 0u);
  commit(*store, same_chunks(2, 4, noise_of(1)));
  EXPECT_EQ(count_at(*disk, reference_at(*disk, 1).hash), 3u);
  expect_clean(*store);
}

TEST(Sharing, AViewGoesOnShowingWhatWasSharedThen) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  commit(*store, same_chunks(0, 3, noise_of(1)));
  const auto view = store->pin().value();
  commit(*store, {.chunks = {{at(0), std::nullopt}, {at(1), noise_of(2)}, {at(2), noise_of(2)}}});
  for (const int x : {0, 1, 2}) EXPECT_EQ(view->read_chunk(at(x)).value(), noise_of(1));
  EXPECT_EQ(store->read_chunk(at(1)).value(), noise_of(2));
}

}  // namespace
}  // namespace varve
