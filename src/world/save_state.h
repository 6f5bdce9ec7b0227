// What a SaveHandle shows, shared by the handle, the world and the saver.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "varve/save.h"

namespace varve {

// Starts a save that was asked for while another one ran. Only the game thread can: it
// owns what is to be saved.
class SaveStarter {
 public:
  virtual ~SaveStarter() = default;
  // Whether this is the thread that may call the next function.
  virtual bool on_game_thread() const noexcept = 0;
  // Waits, until `deadline` if there is one, for the save before `state`, and starts it.
  // False if it cannot be waited for here: inside the hook that comes before it.
  virtual bool start_waiting_save(
      const SaveHandle::State& state,
      std::optional<std::chrono::steady_clock::time_point> deadline) noexcept = 0;
};

// Runs saves on the thread that waits for one of them.
class SaveHelper {
 public:
  virtual ~SaveHelper() = default;
  // All up to `save`, as far as no other thread has begun to. It may take as long as they do.
  virtual void help(const SaveHandle::State& save) noexcept = 0;
  // One more thread waits for a save, or one less (-1): what runs need not take its time.
  virtual void add_waiters(int count) noexcept = 0;
};

// Counts as a thread that waits while it lives.
class SaveWaiter {
 public:
  explicit SaveWaiter(const std::weak_ptr<SaveHelper>& helper) noexcept : helper_(helper.lock()) {
    if (helper_) helper_->add_waiters(1);
  }
  ~SaveWaiter() {
    if (helper_) helper_->add_waiters(-1);
  }
  SaveWaiter(const SaveWaiter&) = delete;
  SaveWaiter& operator=(const SaveWaiter&) = delete;

 private:
  const std::shared_ptr<SaveHelper> helper_;
};

struct SaveHandle::State {
  using Clock = std::chrono::steady_clock;

  // All but the last are set before anybody else has it, that one when the save begins to run.
  std::weak_ptr<SaveStarter> starter;
  std::weak_ptr<SaveHelper> helper;
  // Whether whoever waits for it hurries what the saver does. Not for copies: those take long,
  // beside a game that goes on.
  bool is_hurried = true;
  std::atomic<bool> started = false;

  Progress encoding;
  Progress committing;

  // The last two things that happen to a save: what came of it is known, and, once the
  // world has been told, everybody may know.
  void decide(Result<SaveReport> outcome) noexcept;
  void announce() noexcept;
  void finish(Result<SaveReport> outcome) noexcept;

  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
  bool is_stored() const noexcept { return stored_.load(std::memory_order_acquire); }
  // A journal has what it saves.
  void set_durable() noexcept { durable_.store(true, std::memory_order_release); }
  bool is_durable() const noexcept {
    return durable_.load(std::memory_order_acquire) || is_stored();
  }
  // nullopt until it is announced; decided() does not wait for that.
  std::optional<Result<SaveReport>> result() const;
  std::optional<Result<SaveReport>> decided() const;
  // False if it is not done at the deadline, or cannot be while this thread waits. Without a
  // deadline the thread helps: with one it must not be held by work that has none.
  bool wait(std::optional<Clock::time_point> deadline);
  bool wait_without_starting(std::optional<Clock::time_point> deadline);

 private:
  mutable std::mutex mutex_;
  std::condition_variable done_changed_;
  std::optional<Result<SaveReport>> result_;
  std::atomic<bool> durable_ = false;
  std::atomic<bool> stored_ = false;
  std::atomic<bool> done_ = false;
};

}  // namespace varve
