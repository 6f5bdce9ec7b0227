// What became of a thread's time. On a virtual machine the host takes a core away for milliseconds,
// and nothing that runs inside can tell when; but it can be told from what is left over.
#pragma once

#include "harness/stopwatch.h"

namespace varve::bench {

struct ThreadTimes {
  double wall_ms = 0;
  double computed_ms = 0;
  // It could have run, and others of this machine did.
  double queued_ms = 0;
  // It waited for something: a lock, a disk, a page. Then nobody knows what of the rest is whose.
  bool has_blocked = false;

  // Without what the host took. All of it where that cannot be told.
  double own_ms() const;
};

// Of the thread that makes it and asks it.
class ThreadStopwatch {
 public:
  ThreadStopwatch();
  ThreadTimes times() const;

 private:
  struct Counts {
    double queued_ms = -1;  // below 0: the system does not say
    long blocked_count = 0;
  };
  static Counts counts_now();

  Counts start_;
  Stopwatch wall_;
  CpuStopwatch cpu_;
};

}  // namespace varve::bench
