// The jobs of a saver, and whose turn it is to run one.
//
// A thread that blocks until a save is done has nothing else to do, and waking another one for the
// work, and being woken at its end, costs more than a small save computes. So whoever waits takes
// the turn, if the saver's own thread has not.
//
// Invariants:
// 1. One thread at a time has the turn, and jobs are run in the order in which they were posted.
// 2. Whoever has the turn lets go of it before drain() returns: what runs the jobs may be destroyed
//    behind it.
//
// Thread safety: any thread. A thread that waits may hold on to the queue for longer than its saver
// is there; there is nothing in it to run then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>

#include "world/save_job.h"

namespace varve {

enum class SaverCall : std::uint8_t {
  wake,
  // For whoever waits for the job at once, without a deadline: that thread runs it, and waking
  // another for nothing takes longer than all else that saving a few chunks needs.
  let_sleep,
};

class SaveQueue final : public SaveHelper {
 public:
  // `run_job` gets a list of one. It neither blocks for another job nor throws, and sees to it that
  // job_done() is called once for each, by whoever ends it.
  explicit SaveQueue(std::function<void(std::list<SaveJob>)> run_job)
      : run_job_(std::move(run_job)) {}

  // A list of one, so that posting needs no memory.
  void post(std::list<SaveJob> job, SaverCall call = SaverCall::wake) noexcept;
  // What is posted, until stop(); for the saver's own thread.
  void run() noexcept;
  void stop() noexcept;
  void job_done() noexcept;
  // Waits until everything that was posted is done, and helps.
  void drain() noexcept;

  // Up to the job of that save, if it still waits and nobody has the turn.
  void help(const SaveHandle::State& save) noexcept override;
  void add_waiters(int count) noexcept override {
    waiter_count_.fetch_add(count, std::memory_order_relaxed);
  }
  // Those in drain() too.
  const std::atomic<int>& waiter_count() const noexcept { return waiter_count_; }

 private:
  bool may_take_turn() const noexcept { return !is_taken_ && !jobs_.empty(); }
  bool holds(const SaveHandle::State& save) const noexcept;
  void take_turn(std::unique_lock<std::mutex>& lock) noexcept;

  const std::function<void(std::list<SaveJob>)> run_job_;

  std::mutex mutex_;
  // Two, so that the end of a job does not wake the saver's thread for nothing.
  std::condition_variable work_came_;
  std::condition_variable work_ended_;
  std::list<SaveJob> jobs_;
  std::size_t unfinished_count_ = 0;
  std::atomic<int> waiter_count_ = 0;
  bool is_taken_ = false;
  bool is_stopping_ = false;
};

}  // namespace varve
