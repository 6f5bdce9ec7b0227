// Threads that do what is posted, the most urgent first.
//
// Thread safety: all calls may be made from any thread, also from jobs; the destructor from
// none of the pool's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace varve {

class ThreadPool {
 public:
  using Job = std::function<void()>;
  // Gets the text of an exception that left a job. What it throws itself is dropped.
  using OnException = std::function<void(std::string_view)>;

  // `name` is what debuggers show, cut to 15 bytes with the thread's number. A nice level
  // above 0, added to that of this thread, keeps the threads from slowing down the game's; where it
  // cannot be set they run as the others do. Where the system refuses some of the threads the
  // others do the work; std::system_error if it refuses all.
  ThreadPool(std::string_view name, std::size_t thread_count, int nice_level = 0,
             OnException on_exception = {});
  // Waits for the jobs that run; those that still wait are destroyed without being run.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Jobs of a greater priority run first, those of equal priority in the order they came.
  // Once the destructor runs, a job is destroyed instead.
  void post(int priority, Job job);

  // Jobs that wait, without those that run.
  std::size_t pending_count() const;
  std::size_t thread_count() const noexcept { return threads_.size(); }

  // Calls fn(0) ... fn(count - 1) on the pool's threads and on this one, and returns when
  // all are done. This thread never waits for one that has not begun, so that it is safe in
  // a job, too, and beside any number of long jobs. If calls throw, the first exception is
  // thrown again at the end; the others are still made.
  // Where the calls of the last time took microseconds this thread begins alone, since it is done
  // before another is awake, and wakes them if it is not. So calls may not wait for each other.
  void run_all(std::size_t count, const std::function<void(std::size_t)>& fn);

 private:
  void work(const std::string& name, int nice_level);
  void run(const Job& job) noexcept;
  template <class Round>
  void wake_helpers(const Round& round, std::size_t count) noexcept;

  const OnException on_exception_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // By negated priority, then by number of arrival: the first is the next to run.
  std::map<std::pair<std::int64_t, std::uint64_t>, Job> queue_;
  std::uint64_t posted_count_ = 0;
  bool is_stopping_ = false;
  // Of a call of run_all, the longest of the last time. Too long to be quick until one was made.
  std::atomic<std::int64_t> call_time_ns_;

  std::vector<std::thread> threads_;
};

}  // namespace varve
