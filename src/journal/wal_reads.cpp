// Reading a range of ticks, beside whoever appends.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "journal/wal_segments.h"

namespace varve::journal {
namespace {

Result<Bytes> payload_of(const WalEntry& entry, const SegmentHeader& header) {
  if (entry.header.is_stored) return Bytes::copy_of(entry.payload);
  return compression(header.codec).decompress(entry.payload, kPayloadSizeMax);
}

}  // namespace

Error SegmentList::truncated(std::uint64_t from) const {
  const auto first = first_tick();
  return not_found(fmt::format("{}: history truncated: tick {} is gone, the oldest is {}",
                               files_.dir(), from, first ? std::to_string(*first) : "none"));
}

Error SegmentList::damaged(const View& view, std::uint64_t offset,
                           const std::optional<std::uint64_t>& last_good) const {
  // The writer of another process may have taken it away while we read.
  const auto is_there = files_.vfs().exists(view.segment->path);
  if (is_there && !*is_there) return truncated(view.segment->header.start_tick);
  return corruption(fmt::format("{}: damaged at offset {}; {}; its last tick is {}",
                                view.segment->path, offset,
                                last_good ? fmt::format("tick {} before it is good", *last_good)
                                          : "no tick before it is good",
                                view.last_tick));
}

Result<std::vector<SegmentRef>> SegmentList::in_range(std::uint64_t from, std::uint64_t to) const {
  std::optional<Error> broken;
  {
    const std::lock_guard lock(mutex_);
    if (segments_.empty()) return std::vector<SegmentRef>();
    const Segment& first = *segments_.front();
    broken = first.break_before;
    const bool leads_here = broken ? from >= first.readable_from
                                   : !first.header.previous || from > first.header.previous->tick;
    // Under the same lock: what is dropped between the two would be left out without a word.
    if (leads_here) return select(from, to);
  }
  return broken ? *broken : truncated(from);
}

std::vector<SegmentRef> SegmentList::select(std::uint64_t from, std::uint64_t to) const {
  std::vector<SegmentRef> found;
  std::uint64_t last_before = 0;
  for (const SegmentRef& segment : segments_) {
    const bool has_some = segment->last_tick >= from && segment->header.start_tick < to;
    // What may lie in a break is asked for, too.
    const bool is_broken =
        segment->break_before && from < segment->readable_from && to - 1 > last_before;
    if (has_some || is_broken) found.push_back(segment);
    last_before = segment->last_tick;
  }
  return found;
}

Result<SegmentList::View> SegmentList::view(const SegmentRef& segment, std::uint64_t from) const {
  View view{.segment = segment, .file = {}};
  bool is_indexed = false;
  {
    const std::lock_guard lock(mutex_);
    view.last_tick = segment->last_tick;
    view.end = segment->end;
    view.file = segment->file;
    is_indexed = segment->index.has_value();
  }
  if (view.file == nullptr) {
    auto file = files_.vfs().open(segment->path, OpenMode::read);
    if (!file && file.error().code() == ErrorCode::not_found) return truncated(from);
    if (!file) return file.error();
    view.file = std::move(*file);
  }
  std::optional<TickIndex> made;
  if (!is_indexed) {
    VARVE_ASSIGN(made, index_by_headers(*view.file, segment->header, view.end, view.last_tick));
  }
  const std::lock_guard lock(mutex_);
  if (segment->file == nullptr) segment->file = view.file;
  if (made && !segment->index) segment->index = std::move(made);
  const TickIndex& index = *segment->index;
  const auto behind = std::upper_bound(
      index.begin(), index.end(), from,
      [](std::uint64_t tick, const IndexPoint& point) { return tick < point.tick; });
  if (behind != index.begin()) view.start_offset = std::prev(behind)->offset;
  return view;
}

Result<bool> SegmentList::read_segment(const View& view, std::uint64_t from, std::uint64_t to,
                                       const TickLog::Visit& visit) const {
  const SegmentHeader& header = view.segment->header;
  EntryWalk walk(*view.file, header, view.end, view.start_offset);
  while (walk.last_tick() != view.last_tick) {
    const std::optional<std::uint64_t> last_good = walk.last_tick();
    VARVE_ASSIGN(const auto entry, walk.next());
    if (!entry || entry->header.tick > view.last_tick) {
      return damaged(view, entry ? entry->offset : walk.at_offset(), last_good);
    }
    if (entry->header.tick >= to) return false;
    if (entry->header.tick < from) continue;
    const auto payload = payload_of(*entry, header);
    if (!payload && payload.error().code() == ErrorCode::out_of_space) return payload.error();
    // Its checksum fits, so that whoever wrote it wrote nonsense.
    if (!payload)
      return damaged(view, entry->offset, last_good).with_context(payload.error().message());
    VARVE_ASSIGN(const bool goes_on, visit(entry->header.tick, *payload));
    if (!goes_on) return false;
  }
  return true;
}

Status SegmentList::read(std::uint64_t from, std::uint64_t to, const TickLog::Visit& visit) const {
  if (from >= to) return {};
  VARVE_ASSIGN(const std::vector<SegmentRef> segments, in_range(from, to));
  for (const SegmentRef& segment : segments) {
    if (segment->break_before && from < segment->readable_from) return *segment->break_before;
    VARVE_ASSIGN(const View shown, view(segment, from));
    VARVE_ASSIGN(const bool goes_on, read_segment(shown, from, to, visit));
    if (!goes_on) return {};
  }
  return {};
}

// --- Single ticks ------------------------------------------------------------------------

namespace {

// As far as it is between two points of an index, and a tick.
constexpr std::size_t kPickSize = kIndexStep + (8 << 10);

}  // namespace

Result<std::optional<Bytes>> SegmentList::pick(const SegmentRef& segment,
                                               std::uint64_t tick) const {
  VARVE_ASSIGN(const View shown, view(segment, tick));
  EntryWalk walk(*shown.file, segment->header, shown.end, shown.start_offset, kPickSize);
  VARVE_ASSIGN(const auto entry, walk.find(tick));
  if (!entry || tick > shown.last_tick) return std::nullopt;
  auto payload = payload_of(*entry, segment->header);
  if (!payload) return std::nullopt;
  return *std::move(payload);
}

Status SegmentList::read_ticks(std::span<const std::uint64_t> ticks,
                               const TickLog::Visit& visit) const {
  if (ticks.empty()) return {};
  VARVE_ASSIGN(const std::vector<SegmentRef> segments, in_range(ticks.front(), ticks.back() + 1));
  auto segment = segments.begin();
  for (const std::uint64_t tick : ticks) {
    const auto is_before = [&](const SegmentRef& each) {
      const std::lock_guard lock(mutex_);
      return each->last_tick < tick;
    };
    while (segment != segments.end() && is_before(*segment)) ++segment;
    std::optional<Bytes> payload;
    const bool may_be_there = segment != segments.end() && tick >= (*segment)->header.start_tick;
    if (may_be_there) {
      VARVE_ASSIGN(payload, pick(*segment, tick));
    }
    bool goes_on = true;
    if (payload) {
      VARVE_ASSIGN(goes_on, visit(tick, *payload));
    } else {
      // It is not there, or something before it is damaged: read() knows what to say.
      VARVE_TRY(read(tick, tick + 1, [&](std::uint64_t at, const Bytes& found) -> Result<bool> {
        VARVE_ASSIGN(goes_on, visit(at, found));
        return false;
      }));
    }
    if (!goes_on) return {};
  }
  return {};
}

}  // namespace varve::journal
