#include "io/thread_rank.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <thread>

namespace varve {
namespace {

#ifdef __linux__

struct Rank {
  int level = 0;
  int scheduler = 0;
};

// Of a thread that was put there.
Rank rank_behind(int level, int levels) {
  Rank rank;
  std::thread([&] {
    put_this_thread_behind(level, levels);
    rank = {nice_level_of_this_thread(), sched_getscheduler(0)};
  }).join();
  return rank;
}

TEST(ThreadRank, WhoStandsBehindIsNicerAndInterruptsNobody) {
  const int own = nice_level_of_this_thread();
  const Rank rank = rank_behind(own, 3);
  EXPECT_EQ(rank.level, std::min(19, own + 3));
  const bool is_ordinary = sched_getscheduler(0) == SCHED_OTHER;
  EXPECT_EQ(rank.scheduler, is_ordinary ? SCHED_BATCH : sched_getscheduler(0));
  EXPECT_EQ(nice_level_of_this_thread(), own) << "the others stay as they are";
}

TEST(ThreadRank, TheLastLevelIsTheLast) { EXPECT_EQ(rank_behind(15, 10).level, 19); }

TEST(ThreadRank, NoLevelsBehindChangesNothing) {
  const Rank rank = rank_behind(nice_level_of_this_thread(), 0);
  EXPECT_EQ(rank.level, nice_level_of_this_thread());
  EXPECT_EQ(rank.scheduler, sched_getscheduler(0));
}

// SCHED_IDLE says that the work may wait for ever; batch would be a promotion.
TEST(ThreadRank, AClassTheGameChoseIsKept) {
  int scheduler = -1;
  std::thread([&] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    put_this_thread_behind(nice_level_of_this_thread(), 1);
    scheduler = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(scheduler, SCHED_IDLE);
}

// What is handed to the system in one call holds the core until it is done.
TEST(ThreadRank, WhoStandsBehindWritesInPieces) {
  constexpr std::size_t kLarge = std::size_t{1} << 30;
  EXPECT_EQ(piece_between_ways(kLarge), kLarge);
  std::size_t piece = 0;
  std::thread([&] {
    put_this_thread_behind(nice_level_of_this_thread(), 1);
    EXPECT_EQ(piece_between_ways(1), 1u);
    piece = piece_between_ways(kLarge);
  }).join();
  EXPECT_GT(piece, 0u);
  EXPECT_LE(piece, std::size_t{1} << 20);
}

#else

TEST(ThreadRank, IsLinuxAlone) { GTEST_SKIP() << "threads have no ranks of their own here"; }

#endif

}  // namespace
}  // namespace varve
