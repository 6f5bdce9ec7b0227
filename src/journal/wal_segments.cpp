#include "journal/wal_segments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve::journal {

void note_break_by_damage(Segment& segment) {
  const auto& previous = segment.header.previous;
  segment.readable_from = segment.header.start_tick;
  segment.break_before = corruption(
      fmt::format("{}: the log was damaged behind {} when it was gone on with at tick {}",
                  segment.path, previous ? fmt::format("tick {}", previous->tick) : "its beginning",
                  segment.header.start_tick));
}

void SegmentList::set(std::vector<SegmentRef> segments, std::optional<std::uint64_t> durable_tick) {
  const std::lock_guard lock(mutex_);
  segments_ = std::move(segments);
  durable_tick_ = durable_tick;
}

void SegmentList::begin(SegmentRef segment) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t previous_id =
      segment->header.previous ? segment->header.previous->segment_id : 0;
  while (!segments_.empty() && segments_.back()->header.segment_id > previous_id) {
    segments_.pop_back();
  }
  if (!segments_.empty()) segments_.back()->last_tick = segment->header.previous->tick;
  segments_.push_back(std::move(segment));
}

void SegmentList::note_entry(std::uint64_t tick, std::uint64_t offset, std::uint64_t end,
                             std::uint64_t file_size) {
  const std::lock_guard lock(mutex_);
  Segment& segment = *segments_.back();
  note_in_index(*segment.index, tick, offset);
  segment.last_tick = tick;
  segment.end = end;
  segment.file_size = file_size;
}

void SegmentList::note_file_size(std::uint64_t file_size) {
  const std::lock_guard lock(mutex_);
  segments_.back()->file_size = file_size;
}

void SegmentList::set_durable(std::uint64_t tick) {
  const std::lock_guard lock(mutex_);
  durable_tick_ = tick;
}

std::optional<std::uint64_t> SegmentList::first_tick() const {
  const std::lock_guard lock(mutex_);
  if (segments_.empty()) return std::nullopt;
  return segments_.front()->header.start_tick;
}

bool SegmentList::begins_cut() const {
  const std::lock_guard lock(mutex_);
  return !segments_.empty() && segments_.front()->header.previous.has_value();
}

std::optional<std::uint64_t> SegmentList::latest_tick() const {
  const std::lock_guard lock(mutex_);
  if (segments_.empty()) return std::nullopt;
  return segments_.back()->last_tick;
}

std::optional<std::uint64_t> SegmentList::durable_tick() const {
  const std::lock_guard lock(mutex_);
  // A tick may be durable a moment before it is shown.
  if (durable_tick_ && !segments_.empty()) {
    return std::min(*durable_tick_, segments_.back()->last_tick);
  }
  return durable_tick_;
}

TickLog::Sizes SegmentList::sizes() const {
  const std::lock_guard lock(mutex_);
  TickLog::Sizes sizes{.segment_count = segments_.size()};
  for (const SegmentRef& segment : segments_) {
    sizes.entry_bytes += segment->end;
    sizes.stored_size += segment->file_size;
  }
  return sizes;
}

std::vector<SegmentRef> SegmentList::before(std::uint64_t tick) const {
  const std::lock_guard lock(mutex_);
  std::vector<SegmentRef> found;
  for (std::size_t i = 0; i + 1 < segments_.size() && segments_[i]->last_tick < tick; ++i) {
    found.push_back(segments_[i]);
  }
  return found;
}

std::optional<std::uint64_t> SegmentList::id_behind(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  if (count >= segments_.size()) return std::nullopt;
  return segments_[count]->header.segment_id;
}

void SegmentList::drop(std::size_t count) {
  const std::lock_guard lock(mutex_);
  segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace varve::journal
