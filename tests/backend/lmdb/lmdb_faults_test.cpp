// An LMDB backend on a disk whose calls fail.
//
// Invariants checked: a batch that was done stays; one that was not is there whole or not at all; a
// backend that said `uncertain` writes no more; what is opened again without faults is good.
#include <iostream>

#include "backend/lmdb/disk_faults.h"
#include "backend/lmdb/lmdb_sample.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

constexpr std::uint64_t kBatchCount = 6;
constexpr std::uint64_t kCallCountMax = 2000;

struct Tally {
  int failed_count = 0;
  int uncertain_count = 0;
  int unopened_count = 0;
};

// What may be there: after the batches that were done, or after one more that was not.
struct Allowed {
  Contents certain = {};
  std::optional<Contents> other = {};

  void done(const WriteBatch& batch) {
    apply_to(batch, certain);
    other.reset();
  }
  void not_done(const WriteBatch& batch) {
    other = certain;
    apply_to(batch, *other);
  }
};

void write_all(Backend& backend, Allowed& allowed, Tally& tally) {
  bool is_latched = false;
  for (std::uint64_t n = 1; n <= kBatchCount; ++n) {
    const WriteBatch batch = history_batch(n);
    const WriteResult result = backend.write(batch);
    EXPECT_FALSE(is_latched && result) << "it went on writing";
    if (result) {
      allowed.done(batch);
    } else if (!is_latched) {
      allowed.not_done(batch);
      is_latched = result.outcome() == WriteOutcome::uncertain;
      ++(is_latched ? tally.uncertain_count : tally.failed_count);
    }
    const auto shown = contents_of(backend);
    if (shown) {
      EXPECT_EQ(*shown, allowed.certain);
    } else {
      EXPECT_TRUE(is_latched) << shown.error().message();
    }
  }
  // It may be the one call that fails.
  const Status synced = backend.sync();
  EXPECT_FALSE(is_latched && synced);
}

// Whether the fault came to pass.
bool run(std::uint64_t index, Fault fault, bool for_ever, Durability durability, Tally& tally) {
  const ScratchDir dir;
  const std::string path = dir.file("lmdb");
  Allowed allowed;
  bool was_hit = false;
  {
    DiskFaults faults;
    faults.fail(index, fault, for_ever);
    if (auto backend = open_lmdb_backend(path, {.durability = durability})) {
      write_all(**backend, allowed, tally);
      (void)(*backend)->close();
    } else {
      ++tally.unopened_count;
    }
    was_hit = faults.was_hit();
  }
  const auto again = open_lmdb_backend(path);
  EXPECT_TRUE(again) << again.error().message();
  if (!again) return false;
  const auto found = contents_of(**again);
  EXPECT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found && (*found == allowed.certain || (allowed.other && *found == *allowed.other)))
      << "a mix, or something acknowledged is lost";
  EXPECT_TRUE((*again)->verify()->empty());
  EXPECT_TRUE((*again)->write(history_batch(kBatchCount + 1)));
  EXPECT_EQ(number_in(**again), kBatchCount + 1);
  return was_hit;
}

void sweep(std::string_view what, Fault fault, bool for_ever, Durability durability) {
  Tally tally;
  std::uint64_t index = 0;
  while (index < kCallCountMax && run(index, fault, for_ever, durability, tally)) {
    ASSERT_FALSE(testing::Test::HasFailure()) << what << ", call " << index;
    ++index;
  }
  ASSERT_FALSE(testing::Test::HasFailure()) << what << ", call " << index;
  std::cout << what << ": " << index << " calls failed; " << tally.unopened_count
            << " times it did not open, " << tally.failed_count << " batches failed, "
            << tally.uncertain_count << " were uncertain\n";
  EXPECT_GT(index, 2 * kBatchCount);
  EXPECT_LT(index, kCallCountMax);
}

TEST(LmdbFaults, EveryCallFailsOnce) {
  sweep("EIO once", Fault::io_error, false, {});
  sweep("ENOSPC once", Fault::no_space, false, {});
  sweep("cut once", Fault::cut, false, {});
}

TEST(LmdbFaults, EveryCallFailsAndAllAfterIt) {
  sweep("EIO for ever", Fault::io_error, true, {});
  sweep("ENOSPC for ever", Fault::no_space, true, {});
  sweep("cut for ever", Fault::cut, true, {});
}

TEST(LmdbFaults, EveryCallFailsWhereHeadsAreNotSynced) {
  sweep("none, EIO once", Fault::io_error, false, {.kind = Durability::Kind::none});
  sweep("none, ENOSPC once", Fault::no_space, false, {.kind = Durability::Kind::none});
}

TEST(LmdbFaults, AFailedSyncMakesTheBatchUncertainAndEndsTheWriting) {
  const ScratchDir dir;
  auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  ASSERT_TRUE(backend->write(one("a", "before")));
  DiskFaults faults;
  faults.fail_syncs(EIO, 1);
  const WriteResult uncertain = backend->write(one("a", "uncertain"));
  EXPECT_EQ(uncertain.outcome(), WriteOutcome::uncertain);
  const std::uint64_t calls = faults.call_count();
  const WriteResult refused = backend->write(one("b", "later"));
  expect_words(refused.error(), ErrorCode::io, "open it again");
  EXPECT_FALSE(backend->sync());
  EXPECT_EQ(faults.call_count(), calls) << "the disk is asked no more";
  EXPECT_EQ(value_at(*backend, "a"), "before");
  EXPECT_FALSE(backend->close());
  backend = open_lmdb_backend(dir.file("lmdb")).value();
  const std::string found = value_at(*backend, "a");
  EXPECT_TRUE(found == "before" || found == "uncertain") << found;
  EXPECT_TRUE(backend->write(one("b", "later")));
}

TEST(LmdbFaults, AFullDiskFailsTheBatchAndTheNextThatFitsIsDone) {
  // Wherever in the batch it comes to be full.
  for (const std::uint64_t left : {0, 1, 4096, 5000, 100'000, 250'000, 399'999}) {
    SCOPED_TRACE(left);
    const ScratchDir dir;
    auto backend = open_lmdb_backend(dir.file("lmdb")).value();
    ASSERT_TRUE(backend->write(one("a", "before")));
    DiskFaults faults;
    faults.limit_space(left);
    WriteBatch large = one("a", "after");
    for (std::uint64_t i = 0; i < 40; ++i) {
      large.put(as_byte_view(fmt::format("large{}", i)), Bytes::copy_of(text_of(10'000, i)));
    }
    const WriteResult full = backend->write(large);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.outcome(), WriteOutcome::failed);
    EXPECT_EQ(full.error().code(), ErrorCode::out_of_space) << full.error().message();
    EXPECT_EQ(contents_of(*backend).value(), (Contents{{"a", "before"}}));
    faults.mend();
    ASSERT_TRUE(backend->write(large));
    EXPECT_EQ(backend->sequence(), 2u);
    ASSERT_TRUE(backend->close());
    backend = open_lmdb_backend(dir.file("lmdb")).value();
    EXPECT_EQ(value_at(*backend, "a"), "after");
    EXPECT_TRUE(value_at(*backend, "large39") == text_of(10'000, 39));
    EXPECT_TRUE(backend->verify()->empty());
  }
}

}  // namespace
}  // namespace varve::test
