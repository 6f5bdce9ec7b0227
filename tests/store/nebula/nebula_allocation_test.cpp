// Memory that runs out at the Nth allocation of a commit with backups, for N = 1, 2, 3 ...
// until one gets through.
//
// Invariants checked: nothing throws; a commit that failed left the generation before it, one
// that succeeded made the next; the backups stay whole; nothing is left staged after the next
// commit; no memory is lost; and the store takes commits when there is memory again.
#include <gtest/gtest.h>

#include <iostream>
#include <optional>

#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"
#include "store/nebula/nebula_store.h"
#include "support/allocation_watch.h"

namespace varve::nebula::test {
namespace {

constexpr std::string_view kPath = "world";

Commit change(std::uint64_t tick) {
  const auto text = Bytes::copy_of("a text too long for a short string: " + std::to_string(tick));
  Commit commit{.tick = tick,
                .chunks = {{ChunkPos(0, 0, 0, 0), text}, {ChunkPos(1, 0, 0, 0), std::nullopt}},
                .entities = {{7, EntityValue{ChunkPos(0, 0, 0, 0), encode_entity({}).value()}}},
                .players = {{"a player with quite a long name", text}},
                .backup_count = 2};
  if (tick % 2 == 0) commit.chunks[1].payload = text;
  return commit;
}

// A save with two backups, and views that are held.
struct Subject {
  // One that was reopened has to find its backups first.
  explicit Subject(bool reopened) {
    disk.set_recording(false);
    store = NebulaStore::create(disk, kPath).value();
    Progress progress;
    for (std::uint64_t tick = 1; tick <= 3; ++tick) {
      EXPECT_TRUE(store->commit(change(tick), progress));
    }
    if (reopened) {
      EXPECT_TRUE(store->close());
      store = NebulaStore::open(disk, kPath).value();
    }
    view = store->pin().value();
  }
  ~Subject() { view.reset(); }

  std::size_t staged_count() {
    return disk.list(SaveLayout(kPath).in("varve/staged")).value().size();
  }

  sim::SimDisk disk;
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreView> view;
};

void expect_clean(Store& store) {
  Progress progress;
  const auto report = store.verify(progress);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->clean()) << report->problems.front().error.message();
}

// Fails the allocation `index` of the fourth commit. Whether the commit got through.
bool commit_starved(std::size_t index, bool reopened) {
  Subject subject(reopened);
  Store& store = *subject.store;
  const crash::Records before = crash::read_records(store).value();
  const Commit commit = change(4);
  Progress progress;
  std::optional<varve::test::AllocationFailure> starving(std::in_place, index);
  const auto made = store.commit(commit, progress);
  starving.reset();
  EXPECT_EQ(store.generation(), made ? 4U : 3U) << index;
  EXPECT_EQ(store.tick(), made ? 4U : 3U) << index;
  if (!made) {
    EXPECT_EQ(made.error().code(), ErrorCode::out_of_space) << made.error().message();
    EXPECT_EQ(crash::read_records(store).value(), before) << index;
  }
  EXPECT_EQ(crash::read_records(*subject.view).value(), before) << index;
  expect_clean(store);
  // Once there is memory, the same and another one.
  for (std::uint64_t tick = 4; tick <= 5; ++tick) {
    Progress again;
    const auto later = store.commit(change(tick), again);
    EXPECT_TRUE(later) << index << ": " << later.error().message();
    expect_clean(store);
  }
  EXPECT_EQ(subject.staged_count(), 0U) << index;
  EXPECT_EQ(store.generation(), 5U) << index;
  for (std::uint32_t number = 1; number <= 2; ++number) {
    const auto backup = NebulaStore::open_to_read(subject.disk, backup_path(kPath, number));
    EXPECT_TRUE(backup) << index;
    if (!backup) continue;
    EXPECT_EQ((*backup)->generation(), 5 - number) << index << ", backup " << number;
    expect_clean(**backup);
  }
  subject.view.reset();
  EXPECT_TRUE(store.close()) << index;
  return made.ok();
}

void starve_commits(bool reopened) {
  commit_starved(0, reopened);  // What is made once per program is made now.
  // A commit that needs a little more memory after it was made goes through all the same, so
  // that one success is not the end.
  std::size_t index = 0;
  std::size_t success_count = 0;
  for (std::size_t in_a_row = 0; in_a_row < 50 && !testing::Test::HasFailure(); ++index) {
    const varve::test::AllocationWatch watch;
    const bool made = commit_starved(index, reopened);
    EXPECT_EQ(watch.live_size(), 0U) << index;
    success_count += made ? 1 : 0;
    in_a_row = made ? in_a_row + 1 : 0;
  }
  std::cout << index << " places for memory to run out, " << index - success_count
            << " commits failed\n";
  EXPECT_GT(index, 200U);
}

TEST(NebulaAllocation, ACommitWithBackupsHappensWhollyOrNotAtAll) { starve_commits(false); }

TEST(NebulaAllocation, SoDoesTheFirstOneAfterOpening) { starve_commits(true); }

}  // namespace
}  // namespace varve::nebula::test
