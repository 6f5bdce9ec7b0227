#include "world/save_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace varve {
namespace {

using namespace std::chrono_literals;

// A queue without a thread of its own: what runs is run by whoever waits. Jobs are known by their
// tick, and done when they have been run.
struct Fixture {
  std::shared_ptr<SaveQueue> queue = std::make_shared<SaveQueue>([this](auto job) { run(job); });
  std::function<void(SaveJob&)> before_end = [](SaveJob&) {};
  std::vector<std::uint64_t> run_ticks;  // Not atomic: TSan sees two turns at once.
  std::vector<std::thread::id> runners;

  std::shared_ptr<SaveHandle::State> new_state() const {
    auto state = std::make_shared<SaveHandle::State>();
    state->helper = queue;
    state->started = true;
    return state;
  }
  SaveHandle post(std::uint64_t tick, SaverCall call = SaverCall::wake) {
    std::list<SaveJob> job(1);
    auto state = new_state();
    job.front().tick = tick;
    job.front().outcome.push_back({.state = state});
    queue->post(std::move(job), call);
    return SaveHandle(std::move(state));
  }
  void run(std::list<SaveJob>& job) {
    SaveJob& only = job.front();
    run_ticks.push_back(only.tick);
    runners.push_back(std::this_thread::get_id());
    before_end(only);
    only.state().finish(SaveReport{.tick = only.tick});
    queue->job_done();
  }
};

TEST(SaveQueue, WhoeverWaitsRunsWhatNobodyHasBegun) {
  Fixture fixture;
  SaveHandle first = fixture.post(1);
  SaveHandle second = fixture.post(2);
  SaveHandle third = fixture.post(3);
  EXPECT_EQ(second.wait()->tick, 2u);
  EXPECT_EQ(fixture.run_ticks, (std::vector<std::uint64_t>{1, 2})) << "in order, and no further";
  EXPECT_TRUE(first.is_done());
  EXPECT_FALSE(third.is_done());
  fixture.queue->drain();
  EXPECT_TRUE(third.is_done());
  EXPECT_EQ(fixture.runners, std::vector(3, std::this_thread::get_id()));
}

// Whoever posts without waking the saver's thread waits, and finds the turn taken now and then:
// then whoever has it sees to the job.
TEST(SaveQueue, WhatWakesNobodyIsDoneAllTheSame) {
  Fixture fixture;
  std::thread saver([&] { fixture.queue->run(); });
  constexpr std::uint64_t kCount = 2'000;
  for (std::uint64_t tick = 1; tick <= kCount; tick += 2) {
    SaveHandle woken = fixture.post(tick);
    EXPECT_EQ(fixture.post(tick + 1, SaverCall::let_sleep).wait()->tick, tick + 1);
    EXPECT_TRUE(woken.is_done());
  }
  fixture.queue->drain();
  fixture.queue->stop();
  saver.join();
  EXPECT_EQ(fixture.run_ticks.size(), kCount);
  EXPECT_TRUE(std::is_sorted(fixture.run_ticks.begin(), fixture.run_ticks.end()));
}

TEST(SaveQueue, AWaitWithADeadlineIsNotHeldByWork) {
  Fixture fixture;
  SaveHandle save = fixture.post(1);
  EXPECT_FALSE(save.wait_for(0ms));
  EXPECT_FALSE(save.wait_for(1ms));
  EXPECT_TRUE(fixture.run_ticks.empty());
  fixture.queue->drain();
  EXPECT_TRUE(save.wait_for(0ms));
}

TEST(SaveQueue, ASaveThatIsNotPostedMakesNobodyWork) {
  Fixture fixture;
  SaveHandle other = fixture.post(1);
  const auto not_posted = fixture.new_state();
  fixture.queue->help(*not_posted);
  EXPECT_TRUE(fixture.run_ticks.empty());
  fixture.queue->drain();
}

TEST(SaveQueue, TheSaversThreadRunsWhatNobodyWaitsFor) {
  Fixture fixture;
  std::thread saver([&] { fixture.queue->run(); });
  std::latch ran(3);
  fixture.before_end = [&](SaveJob&) { ran.count_down(); };
  for (std::uint64_t tick = 1; tick <= 3; ++tick) fixture.post(tick);
  ran.wait();
  fixture.queue->drain();
  fixture.queue->stop();
  saver.join();
  EXPECT_EQ(fixture.run_ticks, (std::vector<std::uint64_t>{1, 2, 3}));
}

// What a waiter leaves behind its own save is the saver's, whose thread found the turn taken when
// it was woken, and must be woken again.
TEST(SaveQueue, TheSaversThreadGoesOnWhereAWaiterStops) {
  Fixture fixture;
  std::latch begun(1);
  std::latch go_on(1);
  fixture.before_end = [&](SaveJob& job) {
    if (job.tick != 1) return;
    begun.count_down();
    go_on.wait();
  };
  SaveHandle first = fixture.post(1);
  std::thread waiter([first]() mutable { (void)first.wait(); });
  begun.wait();
  std::thread saver([&] { fixture.queue->run(); });
  SaveHandle second = fixture.post(2);
  // Held by the waiter's turn: this thread neither takes another one nor goes ahead.
  EXPECT_FALSE(second.wait_for(1ms));
  go_on.count_down();
  waiter.join();
  while (!second.wait_for(100ms)) {
  }
  fixture.queue->drain();
  fixture.queue->stop();
  saver.join();
  EXPECT_EQ(fixture.run_ticks, (std::vector<std::uint64_t>{1, 2}));
}

TEST(SaveQueue, DrainWaitsForTheTurnOfAnother) {
  Fixture fixture;
  std::latch begun(1);
  std::atomic<bool> is_over = false;
  fixture.before_end = [&](SaveJob&) { begun.count_down(); };
  SaveHandle save = fixture.post(1);
  std::thread waiter([&] {
    (void)save.wait();
    is_over = true;
  });
  begun.wait();
  fixture.queue->drain();
  // Were somebody still inside, the end of the fixture would be a race that TSan and ASan see.
  EXPECT_EQ(fixture.run_ticks.size(), 1u);
  waiter.join();
  EXPECT_TRUE(is_over);
}

// What runs in the background beside a journal is paced, until somebody waits for its end.
TEST(SaveQueue, KnowsHowManyWait) {
  Fixture fixture;
  EXPECT_EQ(fixture.queue->waiter_count(), 0);
  std::vector<int> counts;
  fixture.before_end = [&](SaveJob&) { counts.push_back(fixture.queue->waiter_count()); };
  (void)fixture.post(1).wait();
  fixture.post(2);
  fixture.queue->drain();
  EXPECT_EQ(counts, (std::vector<int>{1, 1}));
  SaveHandle save = fixture.post(3);
  EXPECT_FALSE(save.wait_for(0ms));
  EXPECT_EQ(fixture.queue->waiter_count(), 0) << "a wait that ran out is over";

  // One that another thread runs already.
  std::latch begun(1);
  fixture.before_end = [&](SaveJob&) {
    begun.count_down();
    while (fixture.queue->waiter_count() < 2) std::this_thread::yield();
  };
  std::thread runner([&] { fixture.queue->drain(); });
  begun.wait();
  EXPECT_TRUE(save.wait());
  runner.join();
  EXPECT_EQ(fixture.queue->waiter_count(), 0);
}

TEST(SaveQueue, WhoWaitsForACopyDoesNotCount) {
  Fixture fixture;
  int count = -1;
  fixture.before_end = [&](SaveJob&) { count = fixture.queue->waiter_count(); };
  std::list<SaveJob> job(1);
  auto state = fixture.new_state();
  state->is_hurried = false;
  job.front().outcome.push_back({.state = state});
  fixture.queue->post(std::move(job));
  EXPECT_TRUE(SaveHandle(state).wait());
  EXPECT_EQ(count, 0);
}

TEST(SaveQueue, ManyWaitersKeepTheOrder) {
  Fixture fixture;
  std::thread saver([&] { fixture.queue->run(); });
  constexpr std::uint64_t kCount = 300;
  std::vector<std::thread> waiters;
  std::vector<std::vector<SaveHandle>> handles(3);
  std::latch posted(1);
  for (std::vector<SaveHandle>& mine : handles) {
    waiters.emplace_back([&] {
      posted.wait();
      for (SaveHandle& save : mine) EXPECT_TRUE(save.wait());
    });
  }
  for (std::uint64_t tick = 1; tick <= kCount; ++tick) {
    handles[tick % handles.size()].push_back(fixture.post(tick));
    if (tick == kCount / 2) {
      SaveHandle save = fixture.post(tick);  // the game thread waits for one, too
      EXPECT_TRUE(save.wait());
    }
  }
  posted.count_down();
  for (std::thread& waiter : waiters) waiter.join();
  fixture.queue->drain();
  fixture.queue->stop();
  saver.join();
  EXPECT_EQ(fixture.run_ticks.size(), kCount + 1);
  EXPECT_TRUE(std::is_sorted(fixture.run_ticks.begin(), fixture.run_ticks.end()));
}

TEST(SaveQueue, AHandleOutlivesItsQueue) {
  SaveHandle save;
  {
    Fixture fixture;
    save = fixture.post(7);
    fixture.queue->drain();
  }
  EXPECT_EQ(save.wait()->tick, 7u);
}

}  // namespace
}  // namespace varve
