// What an open log needs done beside its batches: a segment ready for the next ones, checkpoints,
// space reclaimed, batches made durable in time. On a thread of its own, which does nothing of that
// before the first batch: whoever opens a log wants to read, and nothing is due before something is
// written. It runs ten nice levels behind the thread that opened the log, whichever wrote the first
// batch: that may be the thread of a game's frames. For tests, and where no thread is to be had,
// inside write().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "backend/log/checkpointer.h"
#include "backend/log/log_options.h"
#include "backend/log/reclaimer.h"

namespace varve::log {

class Upkeep {
 public:
  Upkeep(const LogOptions& options, SegmentFiles& files, LogState& state, LogWriter& writer);
  ~Upkeep() { stop(); }

  void start(const Recovered& recovered);
  // Lets the thread settle what a crash left in doubt. Without one, whoever needs it does.
  void settle_soon() noexcept {
    if (options_.background) (void)start_thread();
  }
  // Waits for what is under way.
  void stop() noexcept;

  // After a batch of this size. Where the thread does not keep up, whoever writes helps.
  void after_write(std::uint64_t size);
  // Everything that is due, now. Failures are left for the next time: nothing is lost by them.
  Status run_all(std::uint64_t size_percent_max);
  // So that the next one who opens the log has little to read.
  Status write_checkpoint();

 private:
  // False if there is nothing to do.
  Result<bool> step(std::uint64_t size_percent_max);
  // Whether there is one.
  bool start_thread() noexcept;
  void run() noexcept;
  void wait(std::chrono::milliseconds longest);
  void wait_for_a_batch();
  // Until it stops.
  void pause(std::chrono::milliseconds time);

  const LogOptions& options_;
  LogWriter& writer_;
  // Held through a step.
  std::mutex work_mutex_;
  Checkpointer checkpointer_;
  Reclaimer reclaimer_;
  // Since somebody was last woken.
  std::atomic<std::uint64_t> unseen_size_ = 0;

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::atomic<bool> has_begun_ = false;  // something was written
  bool is_woken_ = false;
  bool is_stopping_ = false;
  int opener_level_ = 0;  // the nice level of the thread that opened the log
  std::once_flag thread_once_;
  std::thread thread_;
};

}  // namespace varve::log
