// What is known of a log while it is open: the index, the segments it points into, the snapshots
// that are held. A writer and a reader in another process read through the same one.
//
// Thread safety: what reads takes the mutex itself, shared. What changes expects it to be held
// exclusively.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "backend/log/index.h"
#include "backend/log/segment.h"
#include "backend/log/snapshot_list.h"
#include "varve/backend.h"

namespace varve::log {

class LogState {
 public:
  // `traits` must outlive it. `applies_durable`: a batch is durable before it is applied.
  LogState(const BackendTraits& traits, bool map_reads, bool applies_durable = false)
      : traits_(traits), map_reads_(map_reads), applies_durable_(applies_durable) {}

  // --- Reading. Without a snapshot: what is there now. Throws std::bad_alloc.

  using At = std::optional<SnapshotList::Handle>;
  Result<std::optional<Bytes>> get(ByteView key, const At& at) const;
  Result<std::optional<Bytes>> get_raw(ByteView key, std::uint64_t size_max, const At& at) const;
  std::vector<Result<std::optional<Bytes>>> multi_get(const std::vector<Bytes>& keys,
                                                      const At& at) const;
  // One page is of one moment, also without a snapshot.
  Result<RangePage> range(const RangeQuery& query, const At& at);
  std::uint64_t sequence() const;
  BackendStats stats() const;
  // What is wrong with which segment, and with which value if `scope` has those. log_verify.cpp
  Result<std::vector<Error>> verify(VerifyScope scope);

  SnapshotList::Handle hold();
  void release(SnapshotList::Handle held);

  // --- Changing.

  std::shared_mutex& mutex() const noexcept { return mutex_; }

  // Gives it a slot. out_of_space if there is none left.
  Status add(const SegmentRef& segment);
  // The same, in the slot the index expects it in, which must be free.
  void add_at(const SegmentRef& segment, std::uint16_t slot);
  void remove(const Segment& segment) noexcept;
  const std::vector<SegmentRef>& segments() const noexcept { return segments_; }
  // Calls `use` with each segment.
  template <class Use>
  void for_each_segment(Use use) const {
    for (const SegmentRef& segment : segments_) {
      if (segment != nullptr) use(segment);
    }
  }

  // Whether a later segment has a durable batch. Until then nothing else may tell how far the log
  // went: the last batches of this one must stay, and stay whole.
  bool is_followed(const Segment& segment, std::uint64_t durable_sequence) const noexcept;

  // Returns what was there before. Throws std::bad_alloc with nothing changed.
  std::optional<Location> put(ByteView key, const Location& location, std::uint64_t sequence);
  std::optional<Location> erase(ByteView key, std::uint64_t sequence);
  // Memory ran out while a batch that is on the disk was taken in, so that the index knows only
  // a part of it. Reads are refused from now on; opening the log again mends it.
  void set_broken() noexcept { broken_ = true; }
  // The record was copied. False if it lies elsewhere or nowhere by now.
  bool move(ByteView key, const Location& from, const Location& to) noexcept;
  void set_sequence(std::uint64_t sequence) noexcept { sequence_ = sequence; }
  std::uint64_t current_sequence() const noexcept { return sequence_; }
  // `uses` is what the index has in each slot. Slots without a segment have nothing.
  void set_index(Index index, std::span<const SlotUse> uses) noexcept;
  // As if nothing had been found.
  void clear() {
    index_ = Index();
    segments_.clear();
    sequence_ = live_cost_ = live_bytes_ = 0;
  }

  const Index& index() const noexcept { return index_; }
  void ensure_order();
  const SnapshotList& snapshots() const noexcept { return snapshots_; }
  // What the records that live take: record_cost().
  std::uint64_t live_cost() const noexcept { return live_cost_; }

 private:
  struct Found {
    SegmentRef segment;
    Location location;
    std::uint64_t used_end = 0;
    bool may_grow = false;  // it takes more batches
    // What lies in it can be shown in place: it is durable. Of what is not, a failed sync may drop
    // the pages, and the disk's old bytes would show through.
    bool may_map = false;
  };
  // The mutex is held, shared is enough.
  std::optional<Location> locate(ByteView key, const At& at) const;
  Result<std::optional<Found>> find(ByteView key, const At& at) const;
  Result<Found> found_at(const Location& location) const;
  Status check_usable() const;
  // It is not held.
  // With `checks`, values that were found good before are checked once more.
  Result<RangePage> range_at(const RangeQuery& query, const At& at, bool checks = false);
  Result<Bytes> read(const Found& found, ByteView key, bool checks = false) const;
  static Result<Bytes> read_raw(const Found& found, std::uint64_t size_max);

  Status verify_segments(std::vector<Error>& problems) const;
  Status verify_values(std::vector<Error>& problems);

  struct Item {
    Bytes key;
    Location location;
  };
  // Up to `count_max` entries from `from` on and below `end`. Fewer, with `rest` set to where to go
  // on, if the snapshot lacks what the index has.
  std::vector<Item> collect(ByteView from, const std::optional<Bytes>& end, std::size_t count_max,
                            const At& at, std::optional<Bytes>& rest) const;
  void count_in(ByteView key, const Location& location) noexcept;
  void count_out(ByteView key, const Location& location) noexcept;

  const BackendTraits& traits_;
  const bool map_reads_;
  const bool applies_durable_;
  bool broken_ = false;
  mutable std::shared_mutex mutex_;
  Index index_;
  SnapshotList snapshots_;
  std::vector<SegmentRef> segments_;  // by slot; null where there is none
  std::uint64_t sequence_ = 0;
  std::uint64_t live_cost_ = 0;
  std::uint64_t live_bytes_ = 0;  // keys and values alone
};

struct HeldSnapshot {
  explicit HeldSnapshot(LogState& of) : state(of), handle(of.hold()) {}
  ~HeldSnapshot() { state.release(handle); }
  HeldSnapshot(const HeldSnapshot&) = delete;
  HeldSnapshot& operator=(const HeldSnapshot&) = delete;

  LogState& state;
  const SnapshotList::Handle handle;
};

// multi_get() has no place for an error of its own: without memory there are no results at all.
template <class Fn>
std::vector<Result<std::optional<Bytes>>> multi_get_or_none(Fn&& fn) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// A snapshot of it.
class LogSnapshot final : public ReadView {
 public:
  // The state must outlive it, through `owner` if it would not otherwise.
  LogSnapshot(LogState& state, std::shared_ptr<const void> owner);
  ~LogSnapshot() override;

  std::uint64_t sequence() const override { return held_->sequence; }
  Result<std::optional<Bytes>> get(ByteView key) const override;
  Result<std::optional<Bytes>> get_raw(ByteView key, std::uint64_t size_max) const override;
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override;
  Result<RangePage> range(const RangeQuery& query) const override;

 private:
  LogState& state_;
  std::shared_ptr<const void> owner_;
  SnapshotList::Handle held_;
};

}  // namespace varve::log
