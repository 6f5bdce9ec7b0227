// How often each durability syncs, and what it says is durable.
#include "backend/lmdb/disk_faults.h"
#include "backend/lmdb/lmdb_sample.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

using Kind = Durability::Kind;

TEST(LmdbDurability, WhatIsToBeDurableAtOnceIs) {
  for (const Durability durability : {Durability{}, Durability{.kind = Kind::every_n, .count = 1},
                                      Durability{.kind = Kind::every_ms, .interval_ms = 60'000}}) {
    const ScratchDir dir;
    const auto backend = open_lmdb_backend(dir.file("lmdb"), {.durability = durability}).value();
    for (std::uint64_t n = 1; n <= 5; ++n) {
      const DiskFaults faults;
      ASSERT_TRUE(backend->write(history_batch(n)));
      EXPECT_EQ(faults.sync_count(), 1u) << "the head is synced by how it is written";
      EXPECT_EQ(backend->stats().durable_sequence, n);
    }
  }
}

TEST(LmdbDurability, ElseTheLastBatchAloneMayBeLost) {
  for (const Durability durability :
       {Durability{.kind = Kind::none}, Durability{.kind = Kind::every_n, .count = 2}}) {
    const ScratchDir dir;
    const auto backend = open_lmdb_backend(dir.file("lmdb"), {.durability = durability}).value();
    for (std::uint64_t n = 1; n <= 5; ++n) {
      const DiskFaults faults;
      ASSERT_TRUE(backend->write(history_batch(n)));
      EXPECT_EQ(faults.sync_count(), 1u) << "pages come before the head that shows them";
      EXPECT_EQ(backend->stats().durable_sequence, n - 1);
    }
    const DiskFaults faults;
    ASSERT_TRUE(backend->sync());
    EXPECT_EQ(faults.sync_count(), 1u);
    EXPECT_EQ(backend->stats().durable_sequence, 5u);
    ASSERT_TRUE(backend->sync());
    EXPECT_EQ(faults.sync_count(), 1u) << "there was nothing to do";
    ASSERT_TRUE(backend->write(history_batch(6)));
    ASSERT_TRUE(backend->close());
    EXPECT_EQ(faults.sync_count(), 3u);
  }
}

}  // namespace
}  // namespace varve::test
