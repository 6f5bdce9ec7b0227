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

// What the threads that take part in one run_all share. A helper may come to it when all
// is done and the caller has gone; it then finds no index left and does not touch `fn`.
struct Round {
  Round(std::size_t of_count, const std::function<void(std::size_t)>& of_fn)
      : count(of_count), fn(&of_fn) {}

  // Calls `after_call` behind each.
  template <class AfterCall>
  void help(const AfterCall& after_call) noexcept {
    std::int64_t begun_at_ns = now_ns();
    for (std::size_t index = next++; index < count; index = next++) {
      std::exception_ptr failure;
      try {
        (*fn)(index);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::int64_t ended_at_ns = now_ns();
      {
        const std::lock_guard lock(mutex);
        if (failure != nullptr && first_failure == nullptr) first_failure = std::move(failure);
        call_time_ns = std::max(call_time_ns, ended_at_ns - begun_at_ns);
        if (++done_count == count) all_done.notify_all();
      }
      begun_at_ns = ended_at_ns;
      after_call(ended_at_ns);
    }
  }

  const std::size_t count;
  const std::function<void(std::size_t)>* const fn;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::condition_variable all_done;
  std::size_t done_count = 0;
  std::int64_t call_time_ns = 0;  // the longest
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
void ThreadPool::wake_helpers(const Round& round) noexcept {
  try {
    for (std::size_t i = std::min(round->count - 1, threads_.size()); i > 0; --i)
      post(std::numeric_limits<int>::max(), [round] { round->help([](std::int64_t) {}); });
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // Out of memory: then with fewer helpers.
  }
}

void ThreadPool::run_all(std::size_t count, const std::function<void(std::size_t)>& fn) {
  if (count == 0) return;
  const auto round = std::make_shared<Round>(count, fn);
  const std::int64_t call_time_ns = call_time_ns_.load(std::memory_order_relaxed);
  const bool is_quick = static_cast<std::int64_t>(count) < kWakeTimeNs / (call_time_ns + 1);
  bool are_awake = !is_quick;
  if (are_awake) wake_helpers(round);
  const std::int64_t late_at_ns = now_ns() + kWakeTimeNs;
  round->help([&](std::int64_t time_ns) {
    if (are_awake || time_ns < late_at_ns) return;
    are_awake = true;
    wake_helpers(round);
  });
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
