#include "world/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <limits>
#include <memory>
#include <stdexcept>

namespace varve {
namespace {

// Keeps the only thread of a pool busy until it is told to go on.
class Stopper {
 public:
  explicit Stopper(ThreadPool& pool) {
    pool.post(std::numeric_limits<int>::max(), [this] {
      started_.count_down();
      go_on_.wait();
    });
    started_.wait();
  }
  void go_on() { go_on_.count_down(); }

 private:
  std::latch started_{1};
  std::latch go_on_{1};
};

TEST(ThreadPool, UrgentJobsRunFirstAndEqualOnesInOrder) {
  std::vector<int> order;
  std::latch done(7);
  ThreadPool pool("test", 1);
  Stopper stopper(pool);
  const auto post = [&](int priority, int value) {
    pool.post(priority, [&order, &done, value] {
      order.push_back(value);
      done.count_down();
    });
  };
  post(0, 30);
  post(std::numeric_limits<int>::min(), 50);
  post(5, 10);
  post(0, 31);
  post(-1, 40);
  post(5, 11);
  post(0, 32);
  EXPECT_EQ(pool.pending_count(), 7u);
  stopper.go_on();
  done.wait();
  EXPECT_EQ(order, (std::vector{10, 11, 30, 31, 32, 40, 50}));
  EXPECT_EQ(pool.pending_count(), 0u);
}

TEST(ThreadPool, TheDestructorFinishesWhatRunsAndDropsTheRest) {
  const auto token = std::make_shared<int>();
  std::atomic<int> run_count = 0;
  std::promise<void> queued;
  std::future<void> dropped = queued.get_future();
  {
    ThreadPool pool("test", 1);
    std::latch started(1);
    // Runs until the queued jobs are gone, which only the destructor brings about. What it
    // posts then is dropped as well.
    pool.post(0, [&, token] {
      started.count_down();
      dropped.wait();
      pool.post(0, [&run_count, token] { ++run_count; });
      ++run_count;
    });
    started.wait();
    pool.post(
        0, [&run_count, token, broken = std::make_shared<std::promise<void>>(std::move(queued))] {
          ++run_count;
        });
    for (int i = 0; i < 10; ++i) pool.post(i, [&run_count, token] { ++run_count; });
  }
  EXPECT_EQ(run_count, 1);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_THROW(dropped.get(), std::future_error);
}

TEST(ThreadPool, WhatAJobHoldsIsGoneBeforeTheNextRuns) {
  std::weak_ptr<int> held;
  std::latch done(1);
  bool was_gone = false;
  ThreadPool pool("test", 1);
  Stopper stopper(pool);
  auto token = std::make_shared<int>();
  held = token;
  pool.post(0, [token = std::move(token)] {});
  pool.post(0, [&] {
    was_gone = held.expired();
    done.count_down();
  });
  stopper.go_on();
  done.wait();
  EXPECT_TRUE(was_gone);
}

TEST(ThreadPool, AJobThatThrowsIsReportedAndHarmsNobody) {
  std::vector<std::string> texts;
  std::latch done(1);
  ThreadPool pool("test", 1, 0, [&](std::string_view text) {
    texts.emplace_back(text);
    throw std::runtime_error("this one is dropped");
  });
  pool.post(0, [] { throw std::runtime_error("no luck"); });
  pool.post(0, [] { throw 7; });
  pool.post(0, [&] { done.count_down(); });
  done.wait();
  EXPECT_EQ(texts, (std::vector<std::string>{"no luck", "an exception that is no std::exception"}));
}

TEST(ThreadPool, NobodyHasToListenToExceptions) {
  std::latch done(1);
  ThreadPool pool("test", 1);
  pool.post(1, [] { throw std::runtime_error("unheard"); });
  pool.post(0, [&] { done.count_down(); });
  done.wait();
}

TEST(ThreadPool, RunAllCallsEachIndexOnce) {
  for (const std::size_t thread_count : {0, 1, 3}) {
    ThreadPool pool("test", thread_count);
    EXPECT_EQ(pool.thread_count(), thread_count);
    for (const std::size_t count : {0, 1, 2, 5, 200}) {
      std::vector<int> calls(count);  // Not atomic: TSan sees an index that is run twice.
      pool.run_all(count, [&](std::size_t index) { ++calls[index]; });
      EXPECT_EQ(calls, std::vector<int>(count, 1));
    }
  }
}

TEST(ThreadPool, RunAllUsesItsThreadsAndTheCallers) {
  ThreadPool pool("test", 2);
  // Each of three calls waits for the others, so that they need three threads.
  std::latch all_there(3);
  pool.run_all(3, [&](std::size_t) { all_there.arrive_and_wait(); });
}

// What was quick the last time is begun without waking anybody. The calls behind one that is not
// need two threads, and would wait for ever if none was woken then.
TEST(ThreadPool, RunAllWakesThreadsForCallsThatTurnOutSlow) {
  ThreadPool pool("test", 1);
  for (int i = 0; i < 3; ++i) pool.run_all(4, [](std::size_t) {});
  std::latch both_there(2);
  pool.run_all(3, [&](std::size_t index) {
    if (index != 0) return both_there.arrive_and_wait();
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < until) {
    }
  });
}

TEST(ThreadPool, RunAllDoesNotWaitForBusyThreads) {
  ThreadPool pool("test", 1);
  Stopper stopper(pool);
  int call_count = 0;
  pool.run_all(50, [&](std::size_t) { ++call_count; });
  EXPECT_EQ(call_count, 50);
  stopper.go_on();
}

TEST(ThreadPool, RunAllWorksInsideJobsAndInsideItself) {
  ThreadPool pool("test", 2);
  std::atomic<int> call_count = 0;
  pool.run_all(4, [&](std::size_t) { pool.run_all(5, [&](std::size_t) { ++call_count; }); });
  EXPECT_EQ(call_count, 20);
  std::latch done(1);
  pool.post(0, [&] {
    pool.run_all(5, [&](std::size_t) { ++call_count; });
    done.count_down();
  });
  done.wait();
  EXPECT_EQ(call_count, 25);
}

TEST(ThreadPool, RunAllMakesAllCallsAndThrowsTheFirstException) {
  for (const std::size_t thread_count : {0, 3}) {
    ThreadPool pool("test", thread_count);
    std::atomic<int> call_count = 0;
    const auto odd_ones_throw = [&](std::size_t index) {
      ++call_count;
      if (index % 2 == 1) throw std::runtime_error("index " + std::to_string(index));
    };
    try {
      pool.run_all(20, odd_ones_throw);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(std::string_view(e.what()).substr(0, 6), "index ");
      EXPECT_TRUE(thread_count != 0 || e.what() == std::string_view("index 1"));
    }
    EXPECT_EQ(call_count, 20);
  }
}

TEST(ThreadPool, ManyThreadsPostAtOnce) {
  constexpr int kEach = 200;
  std::latch done(4 * kEach);
  ThreadPool pool("test", 2);
  ThreadPool posters("poster", 3);
  posters.run_all(4, [&](std::size_t) {
    for (int i = 0; i < kEach; ++i) pool.post(i % 3, [&] { done.count_down(); });
  });
  done.wait();
}

#ifdef __linux__
TEST(ThreadPool, ThreadsHaveNamesAndANiceLevel) {
  // A process that is nice already may not become less so.
  const int nice_level = std::min(getpriority(PRIO_PROCESS, 0) + 1, 19);
  std::array<char, 16> name = {};
  int found_level = -100;
  std::latch done(1);
  ThreadPool pool("a_rather_long_name", 1, nice_level);
  pool.post(0, [&] {
    pthread_getname_np(pthread_self(), name.data(), name.size());
    found_level = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
    done.count_down();
  });
  done.wait();
  EXPECT_STREQ(name.data(), "a_rather_long-0");
  EXPECT_EQ(found_level, nice_level);
}
#endif

}  // namespace
}  // namespace varve
