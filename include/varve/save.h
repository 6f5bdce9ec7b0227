// A save that runs in the background, as the game sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "varve/result.h"
#include "varve/store.h"

namespace varve {

// What a save did. Records it could not encode are not in it: they stay dirty, the
// rest was saved, and `problems` names them.
struct SaveReport {
  std::uint64_t generation = 0;  // of the save afterwards
  std::uint64_t tick = 0;

  std::uint64_t meta_size = 0;  // bytes of the globals written
  std::uint64_t chunk_count = 0;
  std::uint64_t chunk_size = 0;
  std::uint64_t entity_count = 0;
  std::uint64_t entity_size = 0;
  std::uint64_t player_count = 0;
  std::uint64_t player_size = 0;
  std::uint64_t unchanged_count = 0;  // not written: the save held the same already
  std::uint64_t erased_count = 0;
  std::uint64_t written_size = 0;  // what really went to storage

  // Where the time went.
  std::chrono::nanoseconds start_time{};   // on the game thread
  std::chrono::nanoseconds queued_time{};  // waiting for saves before it
  std::chrono::nanoseconds encode_time{};
  std::chrono::nanoseconds commit_time{};

  std::vector<RecordProblem> problems = {};
  // Why the backup that was to be kept beside the save was not. The save was made all the same.
  std::optional<Error> backup_error = {};
};

// Copies of a handle show the same save. A handle outlives its world.
//
// Thread safety: all calls may be made from any thread, one handle from one thread at a
// time.
class SaveHandle {
 public:
  struct State;

  // A handle of no save at all: done, with the error "no save".
  SaveHandle() = default;
  explicit SaveHandle(std::shared_ptr<State> state) noexcept;

  // From 0 to 1; 1 only once it is stored.
  float progress() const noexcept;

  // A save has two levels. *Durable*: a crash does not lose it any more. *Stored*: it is
  // in the save itself, and its chunks count as persisted. Without a journal both come
  // at once.
  bool is_durable() const noexcept;
  bool is_stored() const noexcept;
  // Stored or failed.
  bool is_done() const noexcept;

  // The outcome, once it is done; out_of_space if there is no memory to tell it, which is_stored()
  // does not need.
  std::optional<Result<SaveReport>> result() const;

  // Waits for it to be done. On the game thread this also starts a save that was asked
  // for while another one ran, as update() would; on another thread such a save needs
  // the game thread to call update(). Busy where that can never be: in its own before_save,
  // and inside an edit. This thread does the work itself if no other has begun with it. What it
  // returns is result(), also in that it may lack the memory to tell.
  Result<SaveReport> wait();
  // The same for at most `timeout`, but never the work; false if it was not done by then.
  bool wait_for(std::chrono::milliseconds timeout);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace varve
