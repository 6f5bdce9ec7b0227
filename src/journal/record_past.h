// What a record was at any tick.
//
// Invariants it stands on:
// 1. The first change of a record in a stretch of ticks is logged with what was there before it.
// 2. The store has everything up to its tick, and of what came later any part; never more than the
//    log.
// 3. Changes say what is there afterwards: to make them again on what already has them changes
//    nothing.
//
// So a record at tick t is
// - what its changes in t's stretch up to t made of it: the first of them says on what;
// - else what its first change after t found;
// - else what is stored, with the changes that came after the store's tick, if any.
//
// The game goes on meanwhile: what is read from the store may have a change that was logged after
// the search for a first change had ended. So the search is made again behind the read.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "journal/record_fold.h"
#include "journal/record_tick.h"
#include "journal/tick_reader.h"
#include "journal/world_history.h"

namespace varve::journal {

// All ticks of a range that may have changed a record, for whoever has them at hand.
struct KnownTicks {
  TickRange range = {.from = 0, .to = 0};
  std::span<const std::uint64_t> ticks = {};

  bool covers(const TickRange& part) const noexcept {
    return part.from >= range.from && part.to <= range.to;
  }
  std::span<const std::uint64_t> in(const TickRange& part) const noexcept;
};

class RecordPast {
 public:
  explicit RecordPast(HistorySource source);

  std::uint64_t oldest_tick() const { return source_.journal.oldest_tick(); }
  std::uint64_t latest_tick() const;
  std::uint64_t stretch_start(std::uint64_t tick) const {
    return source_.journal.index().stretch_start(tick);
  }
  // not_found, naming the oldest; invalid_argument, naming the latest.
  Status check(std::uint64_t tick) const;
  // A range as ticks of the history, from 0 being from the oldest. not_found as above.
  Result<TickRange> clamp(const TickRange& range) const;

  // After `tick`, which was checked.
  Result<RecordValue> at(const RecordKey& key, std::uint64_t tick,
                         const KnownTicks& known = {}) const;
  // Before `changed`, one of its ticks.
  Result<RecordValue> before(const RecordKey& key, const RecordTick& changed) const;

  Result<RecordTick> tick_of(const RecordKey& key, std::uint64_t tick) const;
  // What the ticks of a range say of it, rising, without those that say nothing.
  using VisitTick = std::function<Result<bool>(const RecordTick& changed)>;
  Status for_each_change(const RecordKey& key, const TickRange& range, const VisitTick& visit,
                         const KnownTicks& known = {}) const;
  // Every record a tick of the range may have changed, by kind and key, with these ticks and those
  // that at() asks for if it is asked for a tick from `range.from` - 1 on. Until it returns false.
  using VisitTouched = std::function<Result<bool>(const RecordKey& key, const KnownTicks& known)>;
  Status for_each_touched(const TickRange& range, const VisitTouched& visit) const;

  RecordFold fold(const RecordKey& key, RecordValue value) const {
    return RecordFold(making_, key, std::move(value));
  }
  const StoreView& store() const noexcept { return source_.store; }
  const ChunkMaking& making() const noexcept { return making_; }
  const TickReader& ticks() const noexcept { return ticks_; }
  std::uint64_t decoded_count() const {
    return ticks_.decoded_count() + source_.journal.index().scanned_count();
  }

 private:
  struct Ticks {
    std::vector<std::uint64_t> own = {};
    std::span<const std::uint64_t> view = {};
  };
  // How far the search for a first change has come, so that it can be taken up again.
  struct Search {
    std::uint64_t from = 0;
    std::uint64_t window_ticks = 0;
  };

  std::uint64_t latest_logged() const;
  Result<Ticks> ticks_of(const RecordKey& key, const TickRange& range,
                         const KnownTicks& known) const;
  Result<RecordValue> at_unchecked(const RecordKey& key, std::uint64_t tick,
                                   const KnownTicks& known) const;
  // What changes make of it, by rising tick, from the last point that says all of it. nullopt if
  // there is no such point and no `base`; `touched` are the ticks to look at.
  Result<std::optional<RecordValue>> made_by(
      const RecordKey& key, std::span<const std::uint64_t> touched,
      const std::function<Result<RecordValue>()>& base) const;
  Result<std::optional<RecordValue>> found_by_next(const RecordKey& key, Search& search,
                                                   const KnownTicks& known) const;
  Result<RecordValue> stored(const RecordKey& key) const;

  HistorySource source_;
  ChunkMaking making_;
  TickReader ticks_;
};

}  // namespace varve::journal
