// Which ticks speak of which record, so that history reads what it needs and not the whole log.
//
// Ticks come in stretches of a fixed length, counted from tick 0. Each stretch that is over has one
// index in a backend, beside the log: it can be made again from the log at any time, so nothing
// depends on its being there. A stretch without one, or with one that is damaged, is read, and the
// answer is the same. docs/formats/history_index_v1.md has the bytes.
//
// Invariants:
// 1. The index of a stretch is written once the log is durable up to its last tick.
//    One of a stretch the log does not reach the end of is left of something that was given up: it
//    goes when the journal is opened, and counts for nothing until then.
// 2. What it says of a stretch is what the log has of it, or a little more: never less.
//
// Thread safety: note(), catch_up(), write_finished(), forget_before() and forget_from() by one
// thread at a time; the others by any, meanwhile too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "journal/tick_log.h"
#include "varve/backend.h"
#include "varve/history.h"
#include "varve/key.h"
#include "varve/tick.h"

namespace varve::journal {

class HistoryIndex {
 public:
  // Both outlive it. `backend` may hold other things: its keys begin with 06. One that is opened to
  // read is only looked at.
  static Result<std::unique_ptr<HistoryIndex>> open(Backend& backend, const TickLog& log,
                                                    std::uint64_t stretch_ticks);
  virtual ~HistoryIndex() = default;

  virtual std::uint64_t stretch_ticks() const = 0;
  std::uint64_t stretch_start(std::uint64_t tick) const { return tick - tick % stretch_ticks(); }

  // --- By whoever appends to the log -----------------------------------------------------
  // A tick that was appended. Ticks rise. Whoever begins in the midst of a stretch need not tell
  // what was before: it is read from the log when the stretch is over.
  virtual Status note(std::uint64_t tick, const TickMutations& mutations) = 0;
  // Instead of note(): reads what the log has of the stretch it is in, and was not seen before.
  virtual Status catch_up() = 0;
  // Writes the indexes of stretches that are over and durable. Costs nothing if there is none. What
  // the log cannot show of a stretch leaves it without one, and is no error here.
  virtual Status write_finished() = 0;
  // The log was cut: indexes of stretches it has nothing of any more go.
  virtual Status forget_before(std::uint64_t tick) = 0;
  // What the log had from here on is given up. Durable when it returns: before the log goes on.
  virtual Status forget_from(std::uint64_t tick) = 0;

  // --- By whoever looks back ---------------------------------------------------------------
  // Of ticks the log does not have (any more, or yet) nothing is said. corruption where a stretch
  // without an index cannot be read.

  // The ticks of the range that may have changed a record, rising. `key` of any kind.
  virtual Result<std::vector<std::uint64_t>> ticks_of(const RecordKey& key,
                                                      const TickRange& range) const = 0;
  virtual Result<std::vector<std::uint64_t>> ticks_of_singleton(ComponentId id,
                                                                const TickRange& range) const = 0;
  // Every record that some tick of the range may have changed, once, by kind and key, with those
  // ticks; until it returns false. Singletons are not among them.
  using VisitTouched =
      std::function<Result<bool>(const RecordKey& key, std::span<const std::uint64_t> ticks)>;
  virtual Status for_each_touched(const TickRange& range, const VisitTouched& visit) const = 0;

  // Entries of the log that whoever looked back had to decode because a stretch had no index.
  virtual std::uint64_t scanned_count() const = 0;
};

}  // namespace varve::journal
