#include "io/thread_rank.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>

#ifdef __linux__
namespace {
thread_local int yield_count = 0;
}

// The library's own calls come here: nothing else shows that a thread has offered its core.
extern "C" int sched_yield() noexcept {
  ++yield_count;
  return static_cast<int>(syscall(SYS_sched_yield));
}
#endif

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

constexpr std::size_t kPiece = std::size_t{64} << 10;

// How often a thread gave way in so many pieces of work.
int ways_given(bool is_behind, int piece_count, const std::atomic<int>* waiter_count) {
  int count = 0;
  std::thread([&] {
    if (is_behind) put_this_thread_behind(nice_level_of_this_thread(), 1);
    std::optional<GivesWayUnlessWaitedFor> polite;
    if (waiter_count != nullptr) polite.emplace(*waiter_count);
    for (int i = 0; i < piece_count; ++i) give_way(kPiece);
    count = yield_count;
  }).join();
  return count;
}

TEST(ThreadRank, WhoStandsBehindGivesWayBetweenPiecesOfWork) {
  EXPECT_EQ(ways_given(true, 1, nullptr), 1);
  int count = 0;
  std::thread([&] {
    put_this_thread_behind(nice_level_of_this_thread(), 1);
    // Whoever had to wait long for the core works for some time before he offers it again.
    while (yield_count < 3) give_way(kPiece);
    count = yield_count;
  }).join();
  EXPECT_EQ(count, 3);
}

TEST(ThreadRank, LessThanAPieceIsNoReasonToGiveWay) {
  int early_count = 0;
  std::thread([&] {
    put_this_thread_behind(nice_level_of_this_thread(), 1);
    give_way(kPiece / 2);
    early_count = yield_count;
    give_way(kPiece / 2);
    EXPECT_EQ(yield_count, 1) << "two halves are one";
  }).join();
  EXPECT_EQ(early_count, 0);
}

TEST(ThreadRank, WhoStandsWithTheGameGivesNoWay) { EXPECT_EQ(ways_given(false, 1000, nullptr), 0); }

TEST(ThreadRank, NobodyGivesWayWhileSomebodyWaitsForTheWork) {
  std::atomic<int> waiter_count = 1;
  EXPECT_EQ(ways_given(true, 1000, &waiter_count), 0);
  waiter_count = 0;
  EXPECT_GT(ways_given(true, 1000, &waiter_count), 0);
}

#else

TEST(ThreadRank, IsLinuxAlone) { GTEST_SKIP() << "threads have no ranks of their own here"; }

#endif

}  // namespace
}  // namespace varve
