#include "world/save_queue.h"

#include <algorithm>

namespace varve {

void SaveQueue::post(std::list<SaveJob> job, SaverCall call) noexcept {
  bool is_taken = false;
  {
    const std::lock_guard lock(mutex_);
    jobs_.splice(jobs_.end(), job);
    ++unfinished_count_;
    is_taken = is_taken_;
  }
  // Whoever has the turn looks for more before it is over.
  if (!is_taken && call == SaverCall::wake) work_came_.notify_one();
}

void SaveQueue::run() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_came_.wait(lock, [this] { return is_stopping_ || may_take_turn(); });
    if (!may_take_turn()) return;
    take_turn(lock);
  }
}

void SaveQueue::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  work_came_.notify_one();
}

void SaveQueue::job_done() noexcept {
  const std::lock_guard lock(mutex_);
  --unfinished_count_;
  work_ended_.notify_all();
}

void SaveQueue::drain() noexcept {
  add_waiters(1);
  std::unique_lock lock(mutex_);
  while (unfinished_count_ != 0 || is_taken_) {
    if (may_take_turn()) {
      take_turn(lock);
    } else {
      work_ended_.wait(lock);
    }
  }
  add_waiters(-1);
}

void SaveQueue::help(const SaveHandle::State& save) noexcept {
  std::unique_lock lock(mutex_);
  // What comes behind it is none of this thread's business.
  while (may_take_turn() && holds(save)) take_turn(lock);
}

bool SaveQueue::holds(const SaveHandle::State& save) const noexcept {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const SaveJob& job) { return &job.state() == &save; });
}

void SaveQueue::take_turn(std::unique_lock<std::mutex>& lock) noexcept {
  std::list<SaveJob> job;
  job.splice(job.end(), jobs_, jobs_.begin());
  is_taken_ = true;
  lock.unlock();
  run_job_(std::move(job));
  lock.lock();
  is_taken_ = false;
  if (!jobs_.empty()) work_came_.notify_one();
  work_ended_.notify_all();
}

}  // namespace varve
