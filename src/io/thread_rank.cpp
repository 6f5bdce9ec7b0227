#include "io/thread_rank.h"

#ifdef __linux__
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#endif

namespace varve {

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
  // A game that runs its threads in a class of its own knows why.
  if (sched_getscheduler(0) == SCHED_OTHER) {
    const sched_param none{};
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
  }
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), std::min(kLevelMax, level + levels));
#endif
}

}  // namespace varve
