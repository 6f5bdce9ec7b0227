#pragma once

#include <time.h>

#include <chrono>

namespace varve::bench {

// Time since it was made, on the clock that is never set.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double milliseconds() const { return seconds() * 1e3; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What this thread has computed since it was made: what a neighbour that takes the core
// away for a while does not show in.
class CpuStopwatch {
 public:
  double milliseconds() const { return now_ms() - start_ms_; }

 private:
  static double now_ms() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
  double start_ms_ = now_ms();
};

}  // namespace varve::bench
