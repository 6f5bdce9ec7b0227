#include "backend/log/log_state.h"

#include <algorithm>
#include <mutex>

#include "base/try.h"

namespace varve::log {
namespace {

constexpr std::size_t kSlotCountMax = std::size_t{1} << 16;

}  // namespace

Status LogState::add(const SegmentRef& segment) {
  auto free = std::find(segments_.begin(), segments_.end(), nullptr);
  if (free == segments_.end()) {
    if (segments_.size() == kSlotCountMax) {
      return out_of_space("the log has 65,536 segments, and there is no number for another");
    }
    free = segments_.insert(free, nullptr);
  }
  segment->slot = static_cast<std::uint16_t>(free - segments_.begin());
  *free = segment;
  return {};
}

void LogState::add_at(const SegmentRef& segment, std::uint16_t slot) {
  if (segments_.size() <= slot) segments_.resize(slot + std::size_t{1});
  segment->slot = slot;
  segments_[slot] = segment;
}

void LogState::remove(const Segment& segment) noexcept { segments_[segment.slot] = nullptr; }

bool LogState::is_followed(const Segment& segment, std::uint64_t durable_sequence) const noexcept {
  if (segment.kind != SegmentKind::log || segment.first_sequence == 0) return true;
  return std::any_of(segments_.begin(), segments_.end(), [&](const SegmentRef& other) {
    return other != nullptr && other->kind == SegmentKind::log && other->id > segment.id &&
           other->first_sequence != 0 && other->first_sequence <= durable_sequence;
  });
}

void LogState::count_in(ByteView key, const Location& location) noexcept {
  Segment& segment = *segments_[location.slot];
  const std::uint64_t cost = record_cost(key.size(), location.value_size);
  segment.live_size += cost;
  segment.live_count += 1;
  live_cost_ += cost;
  live_bytes_ += key.size() + location.value_size;
}

void LogState::count_out(ByteView key, const Location& location) noexcept {
  const std::uint64_t cost = record_cost(key.size(), location.value_size);
  live_cost_ -= cost;
  live_bytes_ -= key.size() + location.value_size;
  Segment& segment = *segments_[location.slot];
  segment.live_size -= cost;
  segment.live_count -= 1;
}

std::optional<Location> LogState::put(ByteView key, const Location& location,
                                      std::uint64_t sequence) {
  if (!snapshots_.empty()) snapshots_.note(key, index_.find(key));
  const std::optional<Location> before = index_.put(key, location);
  if (before) {
    count_out(key, *before);
    segments_[before->slot]->last_death = sequence;
  }
  count_in(key, location);
  return before;
}

std::optional<Location> LogState::erase(ByteView key, std::uint64_t sequence) {
  if (!snapshots_.empty()) snapshots_.note(key, index_.find(key));
  const std::optional<Location> before = index_.erase(key);
  if (before) {
    count_out(key, *before);
    segments_[before->slot]->last_death = sequence;
  }
  return before;
}

bool LogState::move(ByteView key, const Location& from, const Location& to) noexcept {
  if (!index_.move(key, from, to)) return false;
  count_out(key, from);
  count_in(key, to);
  return true;
}

void LogState::set_index(Index index, std::span<const SlotUse> uses) noexcept {
  index_ = std::move(index);
  live_cost_ = live_bytes_ = 0;
  for_each_segment([&](const SegmentRef& segment) {
    const SlotUse use = segment->slot < uses.size() ? uses[segment->slot] : SlotUse();
    segment->live_count = use.count;
    segment->live_size = use.cost;
    live_cost_ += use.cost;
    live_bytes_ += use.byte_count;
  });
}

void LogState::ensure_order() {
  {
    const std::shared_lock lock(mutex_);
    if (index_.has_order()) return;
  }
  const std::unique_lock lock(mutex_);
  index_.ensure_order();
}

std::uint64_t LogState::sequence() const {
  const std::shared_lock lock(mutex_);
  return sequence_;
}

BackendStats LogState::stats() const {
  const std::shared_lock lock(mutex_);
  BackendStats stats;
  stats.entry_count = index_.count();
  stats.live_size = live_bytes_;
  stats.index_size = index_.memory_size();
  stats.sequence = sequence_;
  for_each_segment(
      [&](const SegmentRef& segment) { stats.stored_size += segment->allocated_size(); });
  return stats;
}

SnapshotList::Handle LogState::hold() {
  const std::unique_lock lock(mutex_);
  return snapshots_.hold(sequence_);
}

void LogState::release(SnapshotList::Handle held) {
  const std::unique_lock lock(mutex_);
  snapshots_.release(held);
}

}  // namespace varve::log
