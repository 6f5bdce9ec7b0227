#include "journal/wal_upkeep.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/guarded.h"

namespace varve::journal {

Status WalUpkeep::start() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {
    return io_error(fmt::format("{}: no thread for its upkeep: {}", files_.dir(), failure.what()));
  }
  return {};
}

void WalUpkeep::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(writer_.mutex());
    is_stopping_ = true;
  }
  writer_.work().notify_all();
  thread_.join();
}

bool WalUpkeep::sync(Lock& lock, bool even_if_durable) {
  const auto ticket = writer_.begin_sync(lock, even_if_durable);
  if (!ticket) return false;
  lock.unlock();
  const Status synced = ticket->file->sync_data();
  lock.lock();
  writer_.finish_sync(lock, *ticket, synced);
  return true;
}

void WalUpkeep::make_zeros(Lock& lock) {
  if (!writer_.write_zeros()) {
    pause();
    return;
  }
  // On the disk before somebody waits for a sync of something else.
  if (thread_.joinable() && !writer_.needs_zeros()) (void)sync(lock, true);
}

void WalUpkeep::make_spare(Lock& lock) {
  const std::uint64_t size = std::min(writer_.spare_size(), options_.segment_size);
  writer_.set_making_spare(true);
  lock.unlock();
  auto spare = or_out_of_memory([&] { return files_.make_spare(size); });
  lock.lock();
  writer_.set_making_spare(false);
  if (spare) {
    writer_.set_spare(std::move(*spare));
  } else {
    pause();
  }
}

bool WalUpkeep::step(Lock& lock) {
  const auto deadline = writer_.sync_deadline();
  const bool is_due = (deadline && *deadline <= Clock::now()) || writer_.sync_is_urgent();
  if (is_due && sync(lock, false)) return true;
  if (is_paused()) return false;
  if (writer_.needs_zeros()) {
    make_zeros(lock);
    return true;
  }
  if (writer_.needs_spare()) {
    make_spare(lock);
    return true;
  }
  return false;
}

void WalUpkeep::run_all() {
  Lock lock(writer_.mutex());
  while (step(lock)) {
  }
}

void WalUpkeep::run() noexcept {
  Lock lock(writer_.mutex());
  while (!is_stopping_) {
    const auto did = or_out_of_memory([&]() -> Result<bool> { return step(lock); });
    if (did && *did) continue;
    if (!lock.owns_lock()) lock.lock();
    if (!did) pause();
    auto until = Clock::now() + std::chrono::hours(1);
    if (is_paused()) until = paused_until_;
    if (const auto deadline = writer_.sync_deadline()) until = std::min(until, *deadline);
    if (!is_stopping_) writer_.work().wait_until(lock, until);
  }
}

}  // namespace varve::journal
