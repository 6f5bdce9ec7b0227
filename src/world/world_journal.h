// The journal of a world at work: ticks go from the game thread to a log.
//
//   game thread     notes what changes -> hand_over(): the notes go into a queue
//   its own thread  notes -> mutations -> bytes -> TickLog::append -> HistoryIndex::note
//   saver           before a commit: make_durable(tick)
//
// Invariants:
// 1. Ticks are logged in the order in which they were handed over, each whole, or none any more:
//    once a tick cannot be logged for good, the journal is given up and logs nothing more.
// 2. Nothing of a tick reaches the store before the log is durable up to it; or the journal was
//    given up, and the same commit takes its id out of the save, so that it is never taken for the
//    save's again.
//
// Thread safety: notes(), hand_over(), is_at_boundary() on the game thread; the others on any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "journal/journal_folder.h"
#include "varve/chunk.h"
#include "varve/journal.h"
#include "varve/store.h"
#include "world/tick_notes.h"

namespace varve {

struct WorldJournalOptions {
  std::uint64_t history_ticks = 72'000;
  std::size_t queue_size_max = std::size_t{64} << 20;
  // How long a tick may lie in the queue. 0: its thread is woken for each.
  std::chrono::milliseconds pick_up_time{0};
  // Off for tests that want everything inside the calls, in one order.
  bool background = true;
};

class WorldJournal {
 public:
  // `store` outlives it. `latest_tick` is the world's. `on_given_up` is called once, on any thread.
  WorldJournal(std::unique_ptr<journal::JournalFolder> folder, const StoreView& store,
               std::uint64_t latest_tick, const WorldJournalOptions& options,
               std::function<void(const Error&)> on_given_up);
  ~WorldJournal();

  // Success if its thread could be started.
  Status start();

  // --- On the game thread --------------------------------------------------------------------
  TickNotes& notes() noexcept { return notes_; }
  // Whether nothing has changed since the last tick ended.
  bool is_at_boundary() const noexcept { return notes_.empty(); }
  // The number of the stretch the tick that is under way belongs to, counted from 1: a record whose
  // mark is another one has no image in it yet.
  std::uint64_t stretch(std::uint64_t tick) const noexcept { return tick / stretch_ticks_ + 1; }
  // Ends a tick. Waits only if the log lags behind by queue_size_max.
  void hand_over(std::uint64_t tick,
                 const std::function<ChunkRef(const ChunkPos&)>& find_chunk) noexcept;

  // --- On any thread -------------------------------------------------------------------------
  // Waits until the log has everything up to `tick`; make_durable() also until that is durable.
  // False: the journal was given up.
  Result<bool> wait_logged(std::uint64_t tick);
  Result<bool> make_durable(std::uint64_t tick);
  std::uint64_t durable_tick() const;
  bool is_given_up() const;
  // The save has everything up to this tick: history before it may be cut.
  void stored(std::uint64_t tick) noexcept;
  // What could not be logged for now, or why it was given up.
  std::optional<Error> problem() const;

  const journal::JournalFolder& folder() const noexcept { return *folder_; }
  // Logs what was handed over and lets go.
  Status close();

 private:
  struct Entry {
    std::uint64_t tick = 0;
    TickNotes notes;
  };

  void run() noexcept;
  bool wait_for_work();
  // Logs what waits; an error if something still does.
  Status log_queued();
  Status log_entry(Entry& entry);
  void cut_history() noexcept;
  void note_failure(const Error& error) noexcept;
  void give_up(const Error& error) noexcept;
  void note_problem(const Error& error) noexcept;
  void stop() noexcept;

  const std::unique_ptr<journal::JournalFolder> folder_;
  const StoreView& store_;
  const WorldJournalOptions options_;
  const std::uint64_t stretch_ticks_;
  const std::function<void(const Error&)> on_given_up_;
  TickNotes notes_;
  BufferPool buffers_;

  // Around calls that change the log; before mutex_ where both are held.
  std::mutex log_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Lists, since what was handed over must not be lost for lack of memory; used ones come back.
  std::list<Entry> queue_;
  std::list<Entry> spare_;
  std::size_t queued_size_ = 0;
  std::uint64_t handed_tick_;
  std::uint64_t logged_tick_;          // everything up to it is in the log
  std::uint64_t last_entry_tick_ = 0;  // of the last that changed something
  std::uint64_t stored_tick_ = 0;
  std::uint64_t wanted_tick_ = 0;  // somebody waits for it to be logged
  std::uint64_t cut_tick_ = 0;
  int failure_count_ = 0;   // in a row
  bool is_asleep_ = false;  // its thread, until somebody wakes it
  bool is_given_up_ = false;
  bool is_stopping_ = false;
  bool is_closed_ = false;
  std::optional<Error> problem_;
  std::thread thread_;
};

}  // namespace varve
