#include "io/thread_rank.h"

#ifdef __linux__
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <chrono>
#include <thread>

#include "io/yield_budget.h"

namespace varve {
namespace {

thread_local bool is_behind = false;
thread_local YieldBudget budget;
thread_local const std::atomic<int>* waiters = nullptr;

bool is_waited_for() noexcept {
  return waiters != nullptr && waiters->load(std::memory_order_relaxed) > 0;
}

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

int nice_level_of_this_thread() noexcept {
#ifdef __linux__
  return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
#else
  return 0;
#endif
}

void put_this_thread_behind([[maybe_unused]] int level, [[maybe_unused]] int levels) noexcept {
#ifdef __linux__
  constexpr int kLevelMax = 19;
  if (levels <= 0) return;
  is_behind = true;
  // A game that runs its threads in a class of its own knows why.
  if (sched_getscheduler(0) == SCHED_OTHER) {
    const sched_param none{};
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
  }
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), std::min(kLevelMax, level + levels));
#endif
}

void give_way(std::size_t work_size) noexcept {
  if (!is_behind || !budget.is_due(work_size) || is_waited_for()) return;
  const std::int64_t from_ns = now_ns();
  if (!budget.may_yield(from_ns)) return;
  std::this_thread::yield();
  budget.has_yielded(from_ns, now_ns());
}

GivesWayUnlessWaitedFor::GivesWayUnlessWaitedFor(const std::atomic<int>& waiter_count) noexcept {
  waiters = &waiter_count;
}
GivesWayUnlessWaitedFor::~GivesWayUnlessWaitedFor() { waiters = nullptr; }

std::size_t piece_between_ways(std::size_t size) noexcept {
  // Copying so much takes the system about as long as other work on a piece.
  constexpr std::size_t kWriteSizeMax = 4 * YieldBudget::kPieceSize;
  return is_behind ? std::min(size, kWriteSizeMax) : size;
}

}  // namespace varve
