// What an open log needs done beside its appends: zeros ahead of the entries, a file for the next
// segment, entries made durable in time. On a thread of its own, or, for tests, inside append().
#pragma once

#include <thread>

#include "journal/wal_writer.h"

namespace varve::journal {

class WalUpkeep {
 public:
  WalUpkeep(const TickLogOptions& options, const WalFiles& files, WalWriter& writer)
      : options_(options), files_(files), writer_(writer) {}
  ~WalUpkeep() { stop(); }

  Status start();
  // Waits for what is under way.
  void stop() noexcept;
  // Everything that is due, now.
  void run_all();

 private:
  using Clock = WalWriter::Clock;
  using Lock = WalWriter::Lock;

  void run() noexcept;
  // False if there is nothing to do.
  bool step(Lock& lock);
  bool sync(Lock& lock, bool even_if_durable);
  void make_zeros(Lock& lock);
  void make_spare(Lock& lock);
  // What fails is tried again after a while: nobody depends on it.
  void pause() { paused_until_ = Clock::now() + std::chrono::seconds(1); }
  bool is_paused() const { return Clock::now() < paused_until_; }

  const TickLogOptions& options_;
  const WalFiles& files_;
  WalWriter& writer_;
  Clock::time_point paused_until_;
  bool is_stopping_ = false;  // guarded by the writer's mutex
  std::thread thread_;
};

}  // namespace varve::journal
