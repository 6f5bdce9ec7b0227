#include "harness/thread_stopwatch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace varve::bench {

double ThreadTimes::own_ms() const {
  if (has_blocked || queued_ms < 0) return wall_ms;
  return std::min(wall_ms, computed_ms + queued_ms);
}

ThreadStopwatch::ThreadStopwatch() : start_(counts_now()) {}

ThreadTimes ThreadStopwatch::times() const {
  ThreadTimes times{.wall_ms = wall_.milliseconds(), .computed_ms = cpu_.milliseconds()};
  const Counts now = counts_now();
  const bool is_known = start_.queued_ms >= 0 && now.queued_ms >= 0;
  times.queued_ms = is_known ? now.queued_ms - start_.queued_ms : -1;
  times.has_blocked = now.blocked_count != start_.blocked_count;
  return times;
}

ThreadStopwatch::Counts ThreadStopwatch::counts_now() {
  Counts counts;
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return counts;
  counts.blocked_count = usage.ru_nvcsw + usage.ru_majflt;
  // Nanoseconds it ran, nanoseconds it waited for a core, and how often.
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return counts;
  char text[96] = {};
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  unsigned long long ran = 0;
  unsigned long long queued = 0;
  if (size > 0 && std::sscanf(text, "%llu %llu", &ran, &queued) == 2) {
    counts.queued_ms = static_cast<double>(queued) / 1e6;
  }
  return counts;
}

}  // namespace varve::bench
