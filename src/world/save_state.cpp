#include "world/save_state.h"

#include <algorithm>
#include <utility>

#include "base/guarded.h"

namespace varve {

void SaveHandle::State::decide(Result<SaveReport> outcome) noexcept {
  const std::lock_guard lock(mutex_);
  result_ = std::move(outcome);
}

void SaveHandle::State::announce() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stored_.store(result_->has_value(), std::memory_order_release);
    done_.store(true, std::memory_order_release);
  }
  done_changed_.notify_all();
}

void SaveHandle::State::finish(Result<SaveReport> outcome) noexcept {
  decide(std::move(outcome));
  announce();
}

std::optional<Result<SaveReport>> SaveHandle::State::decided() const {
  const std::lock_guard lock(mutex_);
  return result_;
}

std::optional<Result<SaveReport>> SaveHandle::State::result() const {
  if (!is_done()) return std::nullopt;
  return decided();
}

bool SaveHandle::State::wait(std::optional<Clock::time_point> deadline) {
  if (!started.load(std::memory_order_acquire)) {
    const auto world = starter.lock();
    if (world && world->on_game_thread())
      if (!world->start_waiting_save(*this, deadline)) return is_done();
  }
  return wait_without_starting(deadline);
}

bool SaveHandle::State::wait_without_starting(std::optional<Clock::time_point> deadline) {
  if (is_done()) return true;
  std::optional<SaveWaiter> waiter;
  if (is_hurried) waiter.emplace(helper);
  if (!deadline) {
    if (const auto queue = helper.lock()) queue->help(*this);
    if (is_done()) return true;
  }
  std::unique_lock lock(mutex_);
  const auto done = [this] { return is_done(); };
  if (deadline) return done_changed_.wait_until(lock, *deadline, done);
  done_changed_.wait(lock, done);
  return true;
}

SaveHandle::SaveHandle(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

float SaveHandle::progress() const noexcept {
  if (!state_) return 0;
  // The store may report the end of its work a moment before the save counts as done.
  if (state_->is_stored()) return 1;
  constexpr float kEncodingShare = 0.3F;
  const float done = kEncodingShare * state_->encoding.fraction() +
                     (1 - kEncodingShare) * state_->committing.fraction();
  return std::min(done, 0.999F);
}

bool SaveHandle::is_durable() const noexcept { return state_ && state_->is_durable(); }
bool SaveHandle::is_stored() const noexcept { return state_ && state_->is_stored(); }
bool SaveHandle::is_done() const noexcept { return !state_ || state_->is_done(); }

std::optional<Result<SaveReport>> SaveHandle::result() const {
  return or_out_of_memory([&]() -> std::optional<Result<SaveReport>> {
    if (!state_) return not_found("no save: this handle belongs to none");
    return state_->result();
  });
}

Result<SaveReport> SaveHandle::wait() {
  if (state_ && !state_->wait(std::nullopt)) {
    return or_out_of_memory([]() -> Result<SaveReport> {
      return busy(
          "a save cannot be waited for before it is cut: not in its before_save, nor in an edit");
    });
  }
  return *result();
}

bool SaveHandle::wait_for(std::chrono::milliseconds timeout) {
  return !state_ || state_->wait(State::Clock::now() + timeout);
}

}  // namespace varve
