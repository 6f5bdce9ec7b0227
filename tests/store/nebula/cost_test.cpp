// What a save costs, counted at the disk: it depends on what changed, never on how much there
// is. The numbers are exact; docs/ARCHITECTURE.md says where they come from.
#include <gtest/gtest.h>

#include <algorithm>

#include "store/nebula/sample_save.h"
#include "support/counting_vfs.h"

namespace varve::nebula {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using varve::test::CountingVfs;
using varve::test::DiskCounts;

Bytes payload(int chunk, int round) {
  return Bytes::copy_of("chunk " + std::to_string(chunk % 10) + " of round " +
                        std::to_string(round % 10));
}

ChunkPos pos(int chunk) { return {chunk % 6, chunk / 6, 0, 0}; }

// `count` chunks from `first` on, as they are in `round`.
std::vector<ChunkChange> chunks(int first, int count, int round) {
  std::vector<ChunkChange> changes;
  for (int i = first; i < first + count; ++i) changes.push_back({pos(i), payload(i, round)});
  return changes;
}

// A save of `chunk_count` chunks on a disk that counts.
struct CountedSave {
  explicit CountedSave(int chunk_count) {
    disk.set_recording(false);
    store = NebulaStore::create(counting, kSavePath).value();
    // In pieces: the simulated disk is slow with large folders.
    constexpr int kPieceCount = 500;
    for (int first = 0; first < chunk_count; first += kPieceCount) {
      must_commit(*store, {.tick = 1,
                           .chunks = chunks(first, std::min(kPieceCount, chunk_count - first), 0)});
    }
  }
  DiskCounts cost_of(Commit commit) {
    counting.reset_counts();
    must_commit(*store, std::move(commit));
    return counting.counts();
  }
  // Of a save of 5 chunks in `round`, which keeps so many backups.
  DiskCounts save_5(int round, std::optional<std::uint32_t> backup_count) {
    return cost_of({.tick = static_cast<std::uint64_t>(10 + round),
                    .chunks = chunks(20, 5, round),
                    .backup_count = backup_count});
  }

  sim::SimDisk disk;
  CountingVfs counting{disk};
  std::unique_ptr<Store> store;
};

// Staged and synced, one record in the catalog, put in place. Nothing is listed or copied.
DiskCounts cost_without_backups() {
  return {.created_file_count = 5,  // staged
          .write_count = 6,         // those and the record
          .written_size = 5 * 24 + 4096,
          .synced_file_count = 6,  // those and the catalog
          .synced_dir_count = 1,   // varve/staged
          .rename_count = 5,       // into place
          .info_count = 1};        // whether the save is still there
}

// What each backup adds: it takes over the 5 files in which it lags behind, as links.
DiskCounts with_backups(DiskCounts cost, std::uint64_t count) {
  cost.lock_count += count;
  cost.link_count += 5 * count;    // into its varve/staged
  cost.synced_dir_count += count;  // that
  cost.write_count += count;       // a record in its catalog
  cost.written_size += 4096 * count;
  cost.synced_file_count += count;
  cost.rename_count += 5 * count;  // into place
  cost.info_count += count;        // whether it is still there
  // Its catalog: whether it is as we left it, and is now that it is locked; to append to; and to
  // remember its ends.
  cost.opened_file_count += 4 * count;
  cost.read_size += 3 * 2 * 4096 * count;
  return cost;
}

TEST(NebulaCost, FiveChunksCostTheSameWhateverTheWorld) {
  for (const int chunk_count : {100, 1'000, 10'000}) {
    for (const std::uint32_t backup_count : {0u, 1u, 3u}) {
      SCOPED_TRACE(std::to_string(chunk_count) + " chunks, " + std::to_string(backup_count) +
                   " backups");
      CountedSave save(chunk_count);
      // The first backups are made whole; from then on each lags behind by one save.
      int round = 1;
      for (; round <= 1 + static_cast<int>(backup_count); ++round) save.save_5(round, backup_count);
      for (const int last = round + 3; round < last; ++round) {
        EXPECT_EQ(save.save_5(round, backup_count),
                  with_backups(cost_without_backups(), backup_count));
      }
    }
  }
}

TEST(NebulaCost, ACommitOfAPartLeavesBackupsAlone) {
  CountedSave save(100);
  save.save_5(1, 1);
  save.save_5(2, 1);
  EXPECT_EQ(save.save_5(3, std::nullopt), cost_without_backups());
}

TEST(NebulaCost, WhatTheSaveHoldsAlreadyIsReadAndNotWritten) {
  CountedSave save(100);
  save.save_5(1, 0);
  const DiskCounts cost = save.cost_of({.chunks = chunks(20, 5, 1)});
  EXPECT_EQ(cost.change_count(), 0u);
  EXPECT_EQ(cost.opened_file_count, 5u);
}

TEST(NebulaCost, ATickAloneIsOneRecord) {
  CountedSave save(100);
  save.save_5(1, 0);
  const DiskCounts cost = save.cost_of({.tick = 100});
  EXPECT_EQ(cost,
            (DiskCounts{
                .write_count = 1, .written_size = 4096, .synced_file_count = 1, .info_count = 1}));
}

TEST(NebulaCost, ErasingIsOneRecordAndARemovalEach) {
  CountedSave save(100);
  save.save_5(1, 0);
  const DiskCounts cost = save.cost_of({.chunks = {{pos(1), {}}, {pos(2), {}}}});
  EXPECT_EQ(cost, (DiskCounts{.write_count = 1,
                              .written_size = 4096,
                              .synced_file_count = 1,
                              .remove_count = 2,
                              .info_count = 1}));
}

// The catalog is written anew so seldom that a save costs no more for it on average than a
// quarter of what it appends.
TEST(NebulaCost, TheCatalogIsRewrittenSeldom) {
  CountedSave save(1'000);
  save.counting.reset_counts();
  constexpr int kSaveCount = 600;
  for (int round = 1; round <= kSaveCount; ++round) save.save_5(round, 0);
  save.counting.reset_counts();
  std::uint64_t written_size = 0;
  int rewrite_count = 0;
  for (int round = 1; round <= kSaveCount; ++round) {
    const DiskCounts cost = save.save_5(kSaveCount + round, 0);
    written_size += cost.written_size;
    rewrite_count += cost.rename_count > 5 ? 1 : 0;
  }
  EXPECT_GE(rewrite_count, 1);
  EXPECT_LE(rewrite_count, 3);
  EXPECT_LT(written_size, kSaveCount * (cost_without_backups().written_size * 5 / 4));
}

// --- A hundred thousand chunks -----------------------------------------------------------

TEST(NebulaCost, AHundredThousandChunksAreFiledReadAndChecked) {
  constexpr int kChunkCount = 100'000;
  CountedSave save(kChunkCount);
  ASSERT_TRUE(save.store->close());
  save.counting.reset_counts();
  save.store = must_open(save.counting);
  ASSERT_NE(save.store, nullptr);
  // Opening reads the catalog and the entities, and no chunk.
  const DiskCounts opening = save.counting.counts();
  EXPECT_LE(opening.opened_file_count, 3u);
  EXPECT_LT(opening.read_size, 30u * kChunkCount);

  int listed_count = 0;
  ASSERT_TRUE(save.store->list_chunks({}, [&](const ChunkInfo&) { return ++listed_count, true; }));
  EXPECT_EQ(listed_count, kChunkCount);
  for (const int chunk : {0, 1, 777, kChunkCount - 1}) {
    EXPECT_EQ(save.store->read_chunk(pos(chunk)).value(), payload(chunk, 0));
  }
  EXPECT_EQ(save.save_5(1, 0).written_size, cost_without_backups().written_size);
  const VerifyReport report = verify(*save.store);
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(report.record_count, static_cast<std::uint64_t>(kChunkCount));
}

}  // namespace
}  // namespace varve::nebula
