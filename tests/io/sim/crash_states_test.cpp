#include "io/sim/crash_states.h"

#include <gtest/gtest.h>

#include <set>

#include "io/sim/sim_disk.h"

namespace varve::sim {
namespace {

// A disk with `sector_count` overwritten sectors pending, and nothing else.
class PendingSectors {
 public:
  explicit PendingSectors(std::size_t sector_count) : replay(DiskImage()) {
    SimDisk disk;
    const auto file = *disk.open("f", OpenMode::create);
    EXPECT_TRUE(file->extend_written(sector_count * kSectorSize));
    EXPECT_TRUE(file->sync_data());
    EXPECT_TRUE(disk.sync_dir("."));
    const std::string fresh(sector_count * kSectorSize, 'n');
    EXPECT_TRUE(file->write_at(0, as_byte_view(fresh)));
    log_ = disk.log();
    for (const DiskOp& op : log_) EXPECT_TRUE(replay.step(op));
    EXPECT_EQ(replay.pending().size(), sector_count);
  }

  DiskReplay replay;

 private:
  OpLog log_;
};

std::vector<std::string> choices(const DiskReplay& replay, const CrashLimits& limits,
                                 std::uint64_t seed) {
  std::vector<std::string> all;
  for_each_crash(replay, limits, seed, [&](const CrashChoice& choice) {
    all.push_back(describe(choice));
    return true;
  });
  return all;
}

TEST(CrashStates, FewPendingGiveAllSubsets) {
  const PendingSectors disk(5);
  const auto all = choices(disk.replay, {.garbage_count_max = 0}, 1);
  EXPECT_EQ(all.size(), 32u);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 32u);
}

TEST(CrashStates, NothingPendingGivesOneState) {
  const DiskReplay replay{DiskImage()};
  EXPECT_EQ(choices(replay, {}, 1), std::vector<std::string>{"kept []"});
}

TEST(CrashStates, ManyPendingGivePrefixesLeaveOneOutKeepOneAndSamples) {
  const PendingSectors disk(20);
  const auto all = choices(disk.replay, {.sample_count = 10, .garbage_count_max = 0}, 1);
  EXPECT_EQ(all.size(), 21u + 20 + 20 + 10);
  const std::set<std::string> unique(all.begin(), all.end());
  EXPECT_TRUE(unique.contains("kept [" + std::string(20, '1') + "]"));
  EXPECT_TRUE(unique.contains("kept [" + std::string(20, '0') + "]"));
  EXPECT_TRUE(unique.contains("kept [1111111" + std::string(13, '0') + "]"));
  EXPECT_TRUE(unique.contains("kept [1110" + std::string(16, '1') + "]"));
  EXPECT_TRUE(unique.contains("kept [0001" + std::string(16, '0') + "]"));
}

TEST(CrashStates, VeryManyPendingStayBounded) {
  const PendingSectors disk(3000);
  EXPECT_EQ(choices(disk.replay, {}, 1).size(), 1 + 64u * 3 + 24 + 8 * 3);
}

TEST(CrashStates, TheSeedDecidesAndReplays) {
  const PendingSectors disk(20);
  EXPECT_EQ(choices(disk.replay, {}, 5), choices(disk.replay, {}, 5));
  EXPECT_NE(choices(disk.replay, {}, 5), choices(disk.replay, {}, 6));
}

TEST(CrashStates, StopsWhenTold) {
  const PendingSectors disk(5);
  int count = 0;
  for_each_crash(disk.replay, {}, 1, [&](const CrashChoice&) { return ++count < 3; });
  EXPECT_EQ(count, 3);
}

TEST(CrashStates, GarbageHitsOneSectorThatWasBeingWritten) {
  const PendingSectors disk(4);
  int garbage_count = 0;
  int seen_count = 0;
  for_each_crash(disk.replay, {.all_subsets_atom_count = 4}, 9, [&](const CrashChoice& choice) {
    if (!choice.garbage_index) return true;
    ++garbage_count;
    SimDisk crashed(disk.replay.crash(choice));
    const auto all = (*crashed.open("f", OpenMode::read))->read_all(1 << 20);
    EXPECT_EQ(all->size(), 4 * kSectorSize);
    int odd_count = 0;
    for (std::size_t sector = 0; sector < 4; ++sector) {
      const Bytes part = all->slice(sector * kSectorSize, kSectorSize);
      const bool fresh = part == Bytes::copy_of(std::string(kSectorSize, 'n'));
      const bool old = part == Bytes::copy_of(std::string(kSectorSize, '\0'));
      odd_count += fresh || old ? 0 : 1;
    }
    EXPECT_LE(odd_count, 1);
    seen_count += odd_count;
    return true;
  });
  EXPECT_EQ(garbage_count, 4 * 3);
  EXPECT_GT(seen_count, 4) << "garbage that nobody sees proves nothing";
}

TEST(CrashStates, GarbageInAnAppendIsNotHiddenBehindTheOldEnd) {
  SimDisk disk;
  const auto file = *disk.open("f", OpenMode::create);
  EXPECT_TRUE(disk.sync_dir("."));
  const std::string fresh(4 * kSectorSize, 'n');
  EXPECT_TRUE(file->append(as_byte_view(fresh)));
  const OpLog log = disk.log();
  DiskReplay replay{DiskImage()};
  for (const DiskOp& op : log) EXPECT_TRUE(replay.step(op));
  int garbage_count = 0;
  for_each_crash(replay, {}, 3, [&](const CrashChoice& choice) {
    if (!choice.garbage_index) return true;
    ++garbage_count;
    SimDisk crashed(replay.crash(choice));
    EXPECT_EQ(crashed.info("f")->size, 4 * kSectorSize);
    return true;
  });
  EXPECT_EQ(garbage_count, 4 * 3);
}

TEST(CrashStates, ARenameAmongManySectorsIsLookedAtByItself) {
  SimDisk disk;
  const std::string half(300 * kSectorSize, 'n');
  const auto file = *disk.open("f", OpenMode::create);
  EXPECT_TRUE(file->extend_written(2 * half.size()));
  EXPECT_TRUE(file->sync_data());
  EXPECT_TRUE(disk.sync_dir("."));
  EXPECT_TRUE(file->write_at(0, as_byte_view(half)));
  EXPECT_TRUE(disk.rename("f", "g"));
  EXPECT_TRUE(file->write_at(half.size(), as_byte_view(half)));
  const OpLog log = disk.log();
  DiskReplay replay{DiskImage()};
  for (const DiskOp& op : log) EXPECT_TRUE(replay.step(op));
  ASSERT_EQ(replay.pending().size(), 601u);
  std::set<std::string> seen;
  for (const std::string& choice : choices(replay, {}, 1)) seen.insert(choice);
  EXPECT_TRUE(seen.contains("kept [" + std::string(300, '0') + "1" + std::string(300, '0') + "]"));
  EXPECT_TRUE(seen.contains("kept [" + std::string(300, '1') + "0" + std::string(300, '1') + "]"));
}

}  // namespace
}  // namespace varve::sim
