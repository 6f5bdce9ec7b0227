#include "journal/history_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "base/endian.h"
#include "base/guarded.h"
#include "base/try.h"
#include "journal/history_merge.h"
#include "journal/live_stretch.h"

namespace varve::journal {
namespace {

constexpr std::byte kTag{6};
constexpr std::size_t kKeySize = 9;
// Stretches kept in memory though they are not the newest: those that have no index and were read.
constexpr std::size_t kLiveCountMax = 16;

Bytes key_of(std::uint64_t first_tick) {
  std::byte bytes[kKeySize];
  bytes[0] = kTag;
  store_be<std::uint64_t>(bytes + 1, first_tick);
  return Bytes::copy_of(ByteView(bytes));
}

class Index final : public HistoryIndex {
 public:
  Index(Backend& backend, const TickLog& log, std::uint64_t stretch_ticks)
      : backend_(backend),
        log_(log),
        stretch_ticks_(stretch_ticks),
        noted_through_(log.latest_tick()) {}

  Status open() {
    VARVE_ASSIGN(const std::vector<std::uint64_t> all, stored());
    const auto latest = log_.latest_tick();
    next_to_write_ = stretch_start(log_.first_tick().value_or(0));
    WriteBatch stale;
    for (const std::uint64_t first : all) {
      const bool is_whole = latest && first % stretch_ticks_ == 0 && is_over(first, *latest);
      if (is_whole) {
        next_to_write_ = std::max(next_to_write_, behind(first));
      } else {
        stale.erase(key_of(first));
      }
    }
    const Status erased = write_durably(stale);
    // Whoever only looks leaves it there. The log does not grow for them, so that it stays unread.
    if (!erased && erased.error().code() == ErrorCode::invalid_argument) return {};
    return erased;
  }

  std::uint64_t stretch_ticks() const override { return stretch_ticks_; }
  std::uint64_t scanned_count() const override { return scanned_count_; }

  // --- Writing -------------------------------------------------------------------------

  Status note(std::uint64_t tick, const TickMutations& mutations) override {
    return or_out_of_memory([&]() -> Status {
      // First, so that a tick that is noted in parts counts as one that is not known.
      const auto before = std::exchange(noted_through_, tick);
      live(stretch_start(tick))->note(tick, mutations, before);
      return {};
    });
  }

  Status catch_up() override {
    return or_out_of_memory([&]() -> Status {
      const auto latest = log_.latest_tick();
      if (!latest) return {};
      return live(stretch_start(*latest))->cover(log_, *latest, kept_count_);
    });
  }

  Status write_finished() override {
    return or_out_of_memory([&]() -> Status {
      const auto durable = log_.durable_tick();
      if (!durable) return {};
      while (is_over(next_to_write_, *durable)) {
        const auto next = next_tick({next_to_write_, *durable + 1});
        // What cannot be read has no index, and is told by whoever wants it.
        if (!next && next.error().code() == ErrorCode::corruption) {
          next_to_write_ = behind(next_to_write_);
          break;
        }
        if (!next) return next.error();
        if (!*next) break;
        next_to_write_ = std::max(next_to_write_, stretch_start(**next));
        if (!is_over(next_to_write_, *durable)) break;
        VARVE_TRY(write_stretch(next_to_write_));
        next_to_write_ = behind(next_to_write_);
      }
      return write_missed(*durable);
    });
  }

  Status forget_before(std::uint64_t tick) override {
    return or_out_of_memory([&]() -> Status {
      VARVE_ASSIGN(const std::vector<std::uint64_t> all, stored());
      WriteBatch batch;
      for (const std::uint64_t first : all) {
        if (Stretch{first, stretch_ticks_}.last_tick() < tick) batch.erase(key_of(first));
      }
      VARVE_TRY(write(batch));
      next_to_write_ = std::max(next_to_write_, stretch_start(tick));
      const std::lock_guard lock(mutex_);
      live_.erase(live_.begin(), live_.lower_bound(stretch_start(tick)));
      missed_.erase(missed_.begin(), missed_.lower_bound(stretch_start(tick)));
      return {};
    });
  }

  Status forget_from(std::uint64_t tick) override {
    return or_out_of_memory([&]() -> Status {
      const std::uint64_t from = stretch_start(tick);
      {
        const std::lock_guard lock(mutex_);
        live_.erase(live_.lower_bound(from), live_.end());
        missed_.erase(missed_.lower_bound(from), missed_.end());
      }
      next_to_write_ = std::min(next_to_write_, from);
      // Of the stretch it is in, what is left must be read.
      noted_through_ = tick == 0 ? std::nullopt : std::optional(tick - 1);
      VARVE_ASSIGN(const std::vector<std::uint64_t> all, stored());
      WriteBatch batch;
      for (const std::uint64_t first : all) {
        if (first >= from) batch.erase(key_of(first));
      }
      return write_durably(batch);
    });
  }

  // --- Looking back ----------------------------------------------------------------------

  Result<std::vector<std::uint64_t>> ticks_of(const RecordKey& key,
                                              const TickRange& range) const override {
    return or_out_of_memory([&] { return find(TouchedKey::of(key), range); });
  }
  Result<std::vector<std::uint64_t>> ticks_of_singleton(ComponentId id,
                                                        const TickRange& range) const override {
    return or_out_of_memory([&] { return find(TouchedKey::of_singleton(id), range); });
  }

  Status for_each_touched(const TickRange& range, const VisitTouched& visit) const override {
    return or_out_of_memory([&]() -> Status {
      std::vector<HistoryBlob> blobs;
      const TickRange there = clamped(range);
      VARVE_TRY(for_each_stretch(
          there,
          [&](const Stretch&, const HistoryBlob& blob) -> Status {
            VARVE_TRY(blob.check());
            blobs.push_back(blob);
            return {};
          },
          [&](const LiveStretch& stretch) -> Status {
            VARVE_ASSIGN(Bytes bytes, stretch.encode());
            VARVE_ASSIGN(HistoryBlob blob, HistoryBlob::open(std::move(bytes), stretch.stretch()));
            blobs.push_back(std::move(blob));
            return {};
          }));
      return merge_touched(blobs, there, visit);
    });
  }

 private:
  bool is_over(std::uint64_t first, std::uint64_t latest) const {
    return Stretch{first, stretch_ticks_}.last_tick() <= latest;
  }
  // The first tick of the next stretch; the last one has none.
  std::uint64_t behind(std::uint64_t first) const {
    const std::uint64_t last = Stretch{first, stretch_ticks_}.last_tick();
    return last == ~std::uint64_t{0} ? last : last + 1;
  }

  // The first tick of every stretch that has an index.
  Result<std::vector<std::uint64_t>> stored() const {
    std::vector<std::uint64_t> found;
    RangeQuery query{.prefix = Bytes::copy_of(ByteView(&kTag, 1)), .values = false};
    for (;;) {
      VARVE_ASSIGN(const RangePage page, backend_.range(query));
      for (const RangeEntry& entry : page.entries) {
        if (entry.key.size() == kKeySize)
          found.push_back(load_be<std::uint64_t>(entry.key.data() + 1));
      }
      if (!page.next) return found;
      query.from = *page.next;
    }
  }

  Status write(const WriteBatch& batch) {
    if (batch.empty()) return {};
    WriteResult written = backend_.write(batch);
    if (!written) return std::move(written).error();
    return {};
  }
  Status write_durably(const WriteBatch& batch) {
    if (batch.empty()) return {};
    VARVE_TRY(write(batch));
    return backend_.sync();
  }

  // The log has all of it, durable.
  Status write_stretch(std::uint64_t first) {
    const std::shared_ptr<LiveStretch> stretch = live(first);
    const Status covered = stretch->cover(log_, stretch->stretch().last_tick(), kept_count_);
    const auto forget = [&] {
      const std::lock_guard lock(mutex_);
      live_.erase(first);
      missed_.erase(first);
    };
    if (!covered && covered.error().code() == ErrorCode::corruption) {
      forget();
      return {};
    }
    VARVE_TRY(covered);
    const Result<Bytes> bytes = stretch->encode();
    // One that is too large is read each time.
    const bool fits = bytes && bytes->size() <= backend_.traits().value_size_max;
    if (fits) {
      WriteBatch batch;
      batch.put(key_of(first), *bytes);
      VARVE_TRY(write(batch));
    }
    forget();
    return {};
  }

  // Those somebody looked for and did not find, or not whole.
  Status write_missed(std::uint64_t durable) {
    std::set<std::uint64_t> missed;
    {
      const std::lock_guard lock(mutex_);
      missed.swap(missed_);
    }
    for (const std::uint64_t first : missed) {
      if (first < next_to_write_ && is_over(first, durable)) VARVE_TRY(write_stretch(first));
    }
    return {};
  }

  std::shared_ptr<LiveStretch> live(std::uint64_t first) const {
    const std::lock_guard lock(mutex_);
    auto& kept = live_[first];
    if (kept.stretch == nullptr) {
      kept.stretch = std::make_shared<LiveStretch>(Stretch{first, stretch_ticks_});
    }
    kept.used = ++use_count_;
    const std::shared_ptr<LiveStretch> found = kept.stretch;
    // The newest is the one that grows.
    while (live_.size() > kLiveCountMax) {
      live_.erase(std::min_element(
          live_.begin(), std::prev(live_.end()),
          [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    }
    return found;
  }

  // What there is of the range.
  TickRange clamped(const TickRange& range) const {
    const auto first = log_.first_tick();
    const auto latest = log_.latest_tick();
    if (!first || !latest) return {0, 0};
    return {std::max(range.from, *first), std::min(range.to, *latest + 1)};
  }

  // The first tick of the range that the log has.
  Result<std::optional<std::uint64_t>> next_tick(TickRange range) const {
    for (;;) {
      range.from = std::max(range.from, log_.first_tick().value_or(0));
      std::optional<std::uint64_t> found;
      const Status read =
          log_.read(range.from, range.to, [&](std::uint64_t tick, const Bytes&) -> Result<bool> {
            found = tick;
            return false;
          });
      if (read) return found;
      const bool was_cut =
          read.error().code() == ErrorCode::not_found && log_.first_tick().value_or(0) > range.from;
      if (!was_cut) return read.error();
    }
  }

  // The index of a stretch that is over; nullopt if there is none, or none that can be used.
  std::optional<HistoryBlob> blob_of(std::uint64_t first) const {
    auto bytes = backend_.get(key_of(first));
    if (bytes && *bytes) {
      auto blob = HistoryBlob::open(**std::move(bytes), {first, stretch_ticks_});
      if (blob) return *std::move(blob);
    }
    return std::nullopt;
  }

  // Calls use(stretch, blob) or use_live(live) for every stretch of the range that has ticks, in
  // order. If the first one fails with a blob that is damaged, the second one is called instead.
  template <class UseBlob, class UseLive>
  Status for_each_stretch(const TickRange& range, const UseBlob& use_blob,
                          const UseLive& use_live) const {
    for (std::uint64_t at = range.from; at < range.to;) {
      std::uint64_t first = stretch_start(at);
      const bool is_finished = is_over(first, latest());
      if (is_finished) {
        if (const auto blob = blob_of(first);
            blob && use_blob(Stretch{first, stretch_ticks_}, *blob)) {
          at = behind(first);
          continue;
        }
      }
      if (!is_known(first)) {
        // Where nothing happened for long, there are many stretches without anything.
        VARVE_ASSIGN(const auto next, next_tick({at, range.to}));
        if (!next) return {};
        if (stretch_start(*next) != first) {
          at = *next;
          continue;
        }
      }
      const std::shared_ptr<LiveStretch> stretch = live(first);
      const Status covered = stretch->cover(log_, range.to - 1, scanned_count_);
      if (covered) {
        VARVE_TRY(use_live(*stretch));
        if (is_finished) note_missed(first);
      } else if (covered.error().code() == ErrorCode::corruption && at > first) {
        // What is damaged may lie before what is asked for.
        LiveStretch part({first, stretch_ticks_}, at);
        VARVE_TRY(part.cover(log_, range.to - 1, scanned_count_));
        VARVE_TRY(use_live(part));
      } else {
        return covered;
      }
      at = behind(first);
    }
    return {};
  }
  std::uint64_t latest() const { return log_.latest_tick().value_or(0); }
  bool is_known(std::uint64_t first) const {
    const std::lock_guard lock(mutex_);
    return live_.contains(first);
  }
  void note_missed(std::uint64_t first) const {
    const std::lock_guard lock(mutex_);
    missed_.insert(first);
  }

  Result<std::vector<std::uint64_t>> find(const TouchedKey& key, const TickRange& range) const {
    std::vector<std::uint64_t> found;
    const TickRange there = clamped(range);
    VARVE_TRY(for_each_stretch(
        there,
        [&](const Stretch&, const HistoryBlob& blob) { return blob.ticks_of(key, there, found); },
        [&](const LiveStretch& stretch) -> Status {
          stretch.ticks_of(key, there, found);
          return {};
        }));
    return found;
  }

  Backend& backend_;
  const TickLog& log_;
  const std::uint64_t stretch_ticks_;

  // Of whoever writes.
  std::optional<std::uint64_t> noted_through_;
  std::uint64_t next_to_write_ = 0;            // the first stretch that may lack an index
  std::atomic<std::uint64_t> kept_count_ = 0;  // entries read to keep it

  struct Kept {
    std::shared_ptr<LiveStretch> stretch;
    std::uint64_t used = 0;
  };
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, Kept> live_;
  mutable std::set<std::uint64_t> missed_;
  mutable std::uint64_t use_count_ = 0;
  mutable std::atomic<std::uint64_t> scanned_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<HistoryIndex>> HistoryIndex::open(Backend& backend, const TickLog& log,
                                                         std::uint64_t stretch_ticks) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<HistoryIndex>> {
    if (stretch_ticks == 0 || stretch_ticks > kStretchTicksMax) {
      return invalid_argument(
          fmt::format("a stretch of {} ticks: it has 1 to {}", stretch_ticks, kStretchTicksMax));
    }
    auto index = std::make_unique<Index>(backend, log, stretch_ticks);
    VARVE_TRY(index->open());
    return index;
  });
}

}  // namespace varve::journal
