#include "world/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include "io/thread_rank.h"

namespace varve {
namespace {

// Linux keeps 15 bytes and the zero; a longer name is refused as a whole.
constexpr std::size_t kThreadNameSizeMax = 15;

std::string thread_name(std::string_view name, std::size_t index) {
  const std::string number = "-" + std::to_string(index);
  return std::string(name.substr(0, kThreadNameSizeMax - number.size())) + number;
}

void set_up_this_thread([[maybe_unused]] const std::string& name, int nice_level) noexcept {
#ifdef __linux__
  pthread_setname_np(pthread_self(), name.c_str());
#endif
  // Its own level still is that of whoever makes the pool.
  put_this_thread_behind(nice_level_of_this_thread(), nice_level);
}

// About what waking a thread takes.
constexpr std::int64_t kWakeTimeNs = 50'000;

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// One call, and what it threw if it did.
std::exception_ptr call(const std::function<void(std::size_t)>& fn, std::size_t index) noexcept {
  try {
    fn(index);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

// Calls that the caller of run_all has made by itself.
struct Begun {
  std::size_t count = 0;
  std::int64_t call_time_ns = 0;  // the longest
  std::exception_ptr first_failure = nullptr;
};

// Makes more of them, until all are made or so much time has gone by.
void go_on_alone(std::size_t count, const std::function<void(std::size_t)>& fn,
                 std::int64_t time_max_ns, Begun& begun) noexcept {
  const std::int64_t begun_at_ns = now_ns();
  for (std::int64_t time_ns = begun_at_ns;
       begun.count < count && time_ns - begun_at_ns < time_max_ns;) {
    std::exception_ptr failure = call(fn, begun.count++);
    if (failure != nullptr && begun.first_failure == nullptr) {
      begun.first_failure = std::move(failure);
    }
    const std::int64_t call_ended_at_ns = now_ns();
    begun.call_time_ns = std::max(begun.call_time_ns, call_ended_at_ns - time_ns);
    time_ns = call_ended_at_ns;
  }
}

// What the threads that take part in one run_all share. A helper may come to it when all
// is done and the caller has gone; it then finds no index left and does not touch `fn`.
struct Round {
  Round(std::size_t of_count, const std::function<void(std::size_t)>& of_fn, const Begun& begun)
      : count(of_count),
        fn(&of_fn),
        next(begun.count),
        done_count(begun.count),
        call_time_ns(begun.call_time_ns),
        first_failure(begun.first_failure) {}

  void help() noexcept {
    std::int64_t begun_at_ns = now_ns();
    for (std::size_t index = next++; index < count; index = next++) {
      std::exception_ptr failure = call(*fn, index);
      const std::int64_t ended_at_ns = now_ns();
      const std::lock_guard lock(mutex);
      if (failure != nullptr && first_failure == nullptr) first_failure = std::move(failure);
      call_time_ns = std::max(call_time_ns, ended_at_ns - begun_at_ns);
      if (++done_count == count) all_done.notify_all();
      begun_at_ns = ended_at_ns;
    }
  }

  const std::size_t count;
  const std::function<void(std::size_t)>* const fn;
  std::atomic<std::size_t> next;
  std::mutex mutex;
  std::condition_variable all_done;
  std::size_t done_count;
  std::int64_t call_time_ns;  // the longest
  std::exception_ptr first_failure;
};

}  // namespace

ThreadPool::ThreadPool(std::string_view name, std::size_t thread_count, int nice_level,
                       OnException on_exception)
    : on_exception_(std::move(on_exception)), call_time_ns_(kWakeTimeNs) {
  threads_.reserve(thread_count);
  for (std::size_t i = 0; i < thread_count; ++i) {
    try {
      threads_.emplace_back(&ThreadPool::work, this, thread_name(name, i), nice_level);
    } catch (...) {
      if (threads_.empty()) throw;
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  decltype(queue_) dropped;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  // Before the threads are waited for: a job that runs may wait for the end of one that
  // does not, and will see it as a broken promise.
  dropped.clear();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::post(int priority, Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    queue_.emplace(std::pair(-std::int64_t{priority}, posted_count_++), std::move(job));
  }
  wake_.notify_one();
}

std::size_t ThreadPool::pending_count() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

template <class Round>
void ThreadPool::wake_helpers(const Round& round, std::size_t count) noexcept {
  try {
    for (std::size_t i = std::min(count, threads_.size()); i > 0; --i)
      post(std::numeric_limits<int>::max(), [round] { round->help(); });
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // Out of memory: then with fewer helpers.
  }
}

void ThreadPool::run_all(std::size_t count, const std::function<void(std::size_t)>& fn) {
  if (count == 0) return;
  const std::int64_t last_time_ns = call_time_ns_.load(std::memory_order_relaxed);
  const bool is_quick = static_cast<std::int64_t>(count) < kWakeTimeNs / (last_time_ns + 1);
  Begun begun;
  // No longer than waking somebody would take.
  if (is_quick) go_on_alone(count, fn, kWakeTimeNs, begun);
  std::shared_ptr<Round> round;
  const std::size_t left_count = count - begun.count;
  if (left_count != 0) {
    try {
      round = std::make_shared<Round>(count, fn, begun);
    } catch (const std::bad_alloc&) {
      // No memory to share it with others.
      go_on_alone(count, fn, std::numeric_limits<std::int64_t>::max(), begun);
    }
  }
  if (round == nullptr) {
    call_time_ns_.store(begun.call_time_ns, std::memory_order_relaxed);
    if (begun.first_failure != nullptr) std::rethrow_exception(begun.first_failure);
    return;
  }
  wake_helpers(round, left_count - 1);
  round->help();
  std::unique_lock lock(round->mutex);
  round->all_done.wait(lock, [&] { return round->done_count == count; });
  // Taken out, so that it dies on this thread and not on that of the last helper.
  const std::exception_ptr failure = std::exchange(round->first_failure, nullptr);
  call_time_ns_.store(round->call_time_ns, std::memory_order_relaxed);
  lock.unlock();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void ThreadPool::work(const std::string& name, int nice_level) {
  set_up_this_thread(name, nice_level);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    if (is_stopping_) return;
    auto next = queue_.extract(queue_.begin());
    lock.unlock();
    run(next.mapped());
    // What the job held goes now: destroying it may post, and may not wait for the next job.
    next = {};
    lock.lock();
  }
}

void ThreadPool::run(const Job& job) noexcept {
  const auto report = [this](std::string_view text) noexcept {
    try {
      if (on_exception_) on_exception_(text);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // There is nobody left to tell.
    }
  };
  try {
    job();
  } catch (const std::exception& e) {
    report(e.what());
  } catch (...) {
    report("an exception that is no std::exception");
  }
}

}  // namespace varve
