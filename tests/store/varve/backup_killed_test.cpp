// Processes that are killed while they back up a save, on the real disk.
//
// Invariants checked, for each kill: the target is absent if no backup was acknowledged yet, else
// it holds the one that was acknowledged last or the one under way, every chunk of it; the save
// opens and holds what was committed; and the next backup is made.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <random>

#include "backend/log/child.h"
#include "crash/store_subject.h"
#include "io/vfs.h"
#include "store/save_folder.h"
#include "store/varve/backup.h"
#include "support/scratch_dir.h"
#include "varve/format.h"

namespace varve::test {
namespace {

constexpr int kChunkCount = 24;
// What a child says when a backup begins; all else it says are ticks that are backed up.
constexpr std::uint64_t kBegins = ~std::uint64_t{0};

std::uint64_t new_seed(std::string_view what) {
  const char* const given = std::getenv("VARVE_KILL_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::cout << what << ": VARVE_KILL_SEED=" << seed << "\n";
  return seed;
}

// Not to wait for anything, but to be somewhere inside of what the child does.
void spin(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Every chunk of a generation says which one it is.
Bytes chunk_at(std::uint64_t tick, int index) {
  std::mt19937_64 random(tick * 100 + static_cast<std::uint64_t>(index));
  std::string text = std::to_string(tick) + ":";
  while (text.size() < 700) text.push_back(static_cast<char>(random()));
  return Bytes::copy_of(text);
}

Status commit_next(Store& world) {
  Commit commit{.tick = world.tick() + 1};
  for (int i = 0; i < kChunkCount; ++i) {
    commit.chunks.push_back({ChunkPos(i, 0), chunk_at(commit.tick, i)});
  }
  // One that comes while the last one goes.
  commit.chunks.push_back({ChunkPos(static_cast<std::int32_t>(100 + commit.tick % 3), 0), {}});
  commit.chunks.push_back({ChunkPos(static_cast<std::int32_t>(100 + (commit.tick + 1) % 3), 0),
                           chunk_at(commit.tick, 99)});
  Progress progress;
  const auto done = world.commit(commit, progress);
  return done ? Status() : done.error();
}

// The tick it is at, if all of it is of that tick; an error otherwise.
Result<std::uint64_t> tick_at(const std::string& path) {
  const auto store = open_store(path);
  if (!store) return store.error();
  const std::uint64_t tick = (*store)->tick();
  const auto records = crash::read_records(**store);
  if (!records) return records.error();
  for (int i = 0; i < kChunkCount && tick > 0; ++i) {
    const auto found = records->find(to_string(ChunkPos(i, 0)));
    if (found == records->end() || found->second != chunk_at(tick, i)) {
      return corruption(path + ": chunk " + std::to_string(i) + " is not of its tick");
    }
  }
  if (records->size() != (tick == 0 ? 0U : kChunkCount + 1U)) {
    return corruption(path + ": " + std::to_string(records->size()) + " records");
  }
  Progress progress;
  const auto verified = (*store)->verify(progress);
  if (!verified) return verified.error();
  if (!verified->clean()) return verified->problems.front().error;
  const Status closed = (*store)->close();
  if (!closed) return closed.error();
  return tick;
}

class Killed {
 public:
  Killed(const BackupDisk::Limits& limits, std::uint64_t seed) : limits_(limits), random_(seed) {}

  // A child commits, backs up and says so, for ever, until it is killed in the midst of a backup.
  void kill_one(bool is_first) {
    {
      Child child([&](int out) { return back_up_for_ever(out); });
      for (std::uint64_t left = is_first ? 0 : random_() % 3;; --left) {
        ASSERT_TRUE(hear(child));
        ASSERT_EQ(said_, kBegins);
        if (left == 0) break;
        ASSERT_TRUE(hear(child));
      }
      spin(std::chrono::microseconds(random_() % static_cast<std::uint64_t>(took_.count())));
      child.stop();
      // It may have said more before it went.
      while (hear(child)) {
      }
      ASSERT_EQ(child.end(), -1) << "it ended by itself";
    }
    check(is_first);
  }

  // Removes the target, so that the next backup is a first one.
  void forget() {
    ASSERT_TRUE(disk().saves().remove(target()));
    acknowledged_ = 0;
  }

  void make_world() {
    const auto world = disk().saves().create(dir_.file("world"));
    ASSERT_TRUE(world) << world.error().message();
    ASSERT_TRUE((*world)->close());
  }

  std::uint64_t absent_count = 0;
  std::uint64_t old_count = 0;
  std::uint64_t new_count = 0;
  std::uint64_t interrupted_count = 0;  // kills that left something under way

 private:
  BackupDisk disk() const {
    return BackupDisk(posix_vfs(), {.traits = log::file_backend_traits()}, limits_);
  }
  std::string target() const { return dir_.file("backup"); }

  Result<BackupReport> back_up_once(const BackupDisk& disk, const Store& world) const {
    const auto held = pin_for_backup(world);
    if (!held) return held.error();
    Progress progress;
    return back_up(*held, target(), {}, progress, disk);
  }

  std::string back_up_for_ever(int out) const {
    const BackupDisk disk = this->disk();
    const auto world = disk.saves().open(dir_.file("world"));
    if (!world) return "open: " + world.error().message();
    for (;;) {
      if (const Status done = commit_next(**world); !done) return done.error().message();
      if (write(out, &kBegins, sizeof kBegins) != sizeof kBegins) return "nobody listens";
      const auto report = back_up_once(disk, **world);
      if (!report) return "back up: " + report.error().message();
      const std::uint64_t tick = report->tick;
      if (write(out, &tick, sizeof tick) != sizeof tick) return "nobody listens";
    }
  }

  // The next thing it says; false if it says no more.
  bool hear(const Child& child) {
    if (read(child.in(), &said_, sizeof said_) != ssize_t{sizeof said_}) return false;
    if (said_ != kBegins) acknowledged_ = said_;
    return true;
  }

  void check(bool is_first) {
    const BackupDisk disk = this->disk();
    const auto world_tick = tick_at(dir_.file("world"));
    ASSERT_TRUE(world_tick) << world_tick.error().message();
    ASSERT_GE(*world_tick, acknowledged_);
    const std::string unfinished = target() + std::string(kUnfinishedBackupSuffix);
    interrupted_count += *posix_vfs().exists(unfinished) ||
                                 *posix_vfs().exists(unfinished + std::string(kUnfinishedSuffix))
                             ? 1
                             : 0;
    if (!*posix_vfs().exists(target())) {
      ASSERT_TRUE(is_first && acknowledged_ == 0) << "a backup is gone";
      ++absent_count;
    } else {
      const auto tick = tick_at(target());
      ASSERT_TRUE(tick) << tick.error().message();
      ASSERT_GE(*tick, acknowledged_);
      ASSERT_LE(*tick, *world_tick);
      ++(*tick == *world_tick ? new_count : old_count);
    }
    const auto world = disk.saves().open(dir_.file("world"));
    ASSERT_TRUE(world) << world.error().message();
    const auto begun_at = std::chrono::steady_clock::now();
    const auto report = back_up_once(disk, **world);
    took_ = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                  begun_at) +
            std::chrono::milliseconds(2);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->tick, *world_tick);
    ASSERT_TRUE((*world)->close());
    const auto tick = tick_at(target());
    ASSERT_TRUE(tick) << tick.error().message();
    ASSERT_EQ(*tick, *world_tick);
    for (const std::string_view suffix : {kUnfinishedBackupSuffix, kReplacedBackupSuffix}) {
      EXPECT_FALSE(*posix_vfs().exists(target() + std::string(suffix))) << suffix;
    }
    acknowledged_ = *world_tick;
  }

  const BackupDisk::Limits limits_;
  std::mt19937_64 random_;
  const ScratchDir dir_;
  std::uint64_t said_ = 0;
  std::uint64_t acknowledged_ = 0;
  // What a backup took and a little more: the next kill is somewhere inside of one, or just behind.
  std::chrono::microseconds took_{5000};
};

void kill_many(std::string_view what, const BackupDisk::Limits& limits, int kill_count,
               bool forgets) {
  Killed killed(limits, new_seed(what));
  killed.make_world();
  for (int round = 0; round < kill_count; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const bool is_first = round == 0 || forgets;
    if (round > 0 && forgets) killed.forget();
    killed.kill_one(is_first);
    if (testing::Test::HasFatalFailure()) return;
  }
  std::cout << what << ": " << kill_count << " kills, the target was absent after "
            << killed.absent_count << ", old after " << killed.old_count << ", new after "
            << killed.new_count << "; " << killed.interrupted_count
            << " left something under way\n";
}

TEST(VarveBackupKilled, AFirstOneIsWholeOrAbsent) { kill_many("first", {}, 60, true); }
TEST(VarveBackupKilled, AnIncrementalOneIsTheOldOneOrTheNew) {
  kill_many("incremental", {}, 80, false);
}
// Less than any change: a new copy takes the place of the old one.
TEST(VarveBackupKilled, OneThatTakesTheOldOnesPlaceIsTheOldOneOrTheNew) {
  kill_many("in its place", {.change_size_max = 16, .page_size = 4 << 10}, 80, false);
}

}  // namespace
}  // namespace varve::test
