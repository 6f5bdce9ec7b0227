#include "journal/wal_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/try.h"

namespace varve::journal {
namespace {

// What a reader listed may be out of date when it opens it: it tries again, and so it does before
// it calls something damaged that may only be changing.
constexpr int kReaderAttempts = 8;
// And what it finds bad may be half written.
constexpr int kReaderScans = 16;

class Recovery {
 public:
  Recovery(const WalFiles& files, bool writes) : files_(files), writes_(writes) {}

  Result<Recovered> run() {
    // In this order: a writer beside us changes the mark before it removes anything.
    VARVE_ASSIGN(ids_, files_.list());
    VARVE_TRY(read_mark());
    VARVE_TRY(read_headers());
    VARVE_TRY(build_chain());
    VARVE_TRY(read_end());
    note_leftovers();
    return std::move(found_);
  }

 private:
  Status read_mark() {
    auto mark = files_.read_mark();
    if (mark) {
      found_.mark = mark->value_or(Mark{});
      return {};
    }
    if (mark.error().code() != ErrorCode::corruption) return mark.error();
    is_mark_lost_ = true;
    problem(mark.error());
    return {};
  }

  Status read_headers() {
    for (const std::uint64_t id : ids_) {
      found_.next_segment_id = std::max(found_.next_segment_id, id + 1);
      if (id < found_.mark.oldest_segment_id) continue;
      auto segment = read_header(id);
      if (segment) {
        segments_.emplace(id, std::move(*segment));
      } else if (segment.error().code() == ErrorCode::corruption) {
        bad_.emplace(id, segment.error());
      } else {
        return segment.error();
      }
    }
    return {};
  }

  Result<SegmentRef> read_header(std::uint64_t id) {
    auto segment = std::make_shared<Segment>();
    segment->path = files_.segment_path(id);
    VARVE_ASSIGN(const auto file, files_.vfs().open(segment->path, OpenMode::read));
    VARVE_ASSIGN(segment->file_size, file->size());
    segment->end = segment->file_size;
    std::byte bytes[kSegmentHeaderSize];
    VARVE_TRY(file->read_exactly(0, bytes));
    auto header = decode_segment_header(bytes);
    if (!header) return header.error().with_context(segment->path);
    if (header->segment_id != id) {
      return corruption(
          fmt::format("{}: is segment {} by its header", segment->path, header->segment_id));
    }
    segment->header = *header;
    return segment;
  }

  // From the last one back, as each says.
  Status build_chain() {
    auto at = segments_.rbegin();
    while (at != segments_.rend()) {
      const SegmentRef& segment = at->second;
      found_.segments.push_back(segment);
      if (segment->header.after_damage) note_break_by_damage(*segment);
      const auto& previous = segment->header.previous;
      if (!previous) break;
      const auto named = segments_.find(previous->segment_id);
      if (named != segments_.end() && named->second->header.start_tick <= previous->tick) {
        named->second->last_tick = previous->tick;
        at = std::make_reverse_iterator(std::next(named));
        continue;
      }
      // The mark says which were removed. Without it that is believed where none is older.
      at = std::make_reverse_iterator(segments_.lower_bound(previous->segment_id));
      const bool is_removed =
          previous->segment_id < found_.mark.oldest_segment_id ||
          (is_mark_lost_ && at == segments_.rend() && !bad_.contains(previous->segment_id));
      if (is_removed) break;
      VARVE_TRY(note_hole(*segment, at == segments_.rend() ? nullptr : at->second));
    }
    std::reverse(found_.segments.begin(), found_.segments.end());
    // One behind the last that can be read has lost what it held.
    if (!bad_.empty() && (segments_.empty() || bad_.rbegin()->first > segments_.rbegin()->first)) {
      problem(bad_.rbegin()->second);
      found_.is_end_damaged = true;
    }
    return {};
  }

  // `before` is the next one that is there.
  Status note_hole(Segment& segment, const SegmentRef& before) {
    const Link& previous = *segment.header.previous;
    const auto bad = bad_.find(previous.segment_id);
    const std::string what = bad != bad_.end() ? bad->second.message() : "it is missing";
    segment.readable_from = previous.tick + 1;
    segment.break_before = corruption(
        fmt::format("{}: the segment with ticks up to {}, before {}, cannot be read: {}",
                    files_.segment_path(previous.segment_id), previous.tick, segment.path, what));
    problem(*segment.break_before);
    if (before == nullptr) return {};
    // Nobody says any more where that one ends.
    VARVE_ASSIGN(const auto file, files_.vfs().open(before->path, OpenMode::read));
    VARVE_ASSIGN(TailScan scan, scan_tail(*file, before->header, before->file_size, std::nullopt));
    before->last_tick = scan.last_tick.value_or(before->header.start_tick);
    return {};
  }

  Result<TailScan> scan_end(const Segment& last, const File& file) {
    const auto& closed_at = found_.mark.closed_at;
    std::optional<std::uint64_t> tick_max;
    if (closed_at && closed_at->segment_id == last.header.segment_id) tick_max = closed_at->tick;
    VARVE_ASSIGN(TailScan scan, scan_tail(file, last.header, last.file_size, tick_max));
    // Beside a writer, an entry may be found half written and the next one whole.
    for (int i = 0; !writes_ && scan.is_damaged && i < kReaderScans; ++i) {
      VARVE_ASSIGN(TailScan again, scan_tail(file, last.header, last.file_size, tick_max));
      const bool is_same = again.end == scan.end;
      scan = std::move(again);
      if (is_same) break;
    }
    return scan;
  }

  Status read_end() {
    if (found_.segments.empty()) {
      check_mark();
      return {};
    }
    Segment& last = *found_.segments.back();
    VARVE_ASSIGN(const auto file, files_.vfs().open(last.path, OpenMode::read));
    VARVE_ASSIGN(TailScan scan, scan_end(last, *file));
    if (scan.is_damaged) {
      found_.is_end_damaged = true;
      problem(corruption(
          fmt::format("{}: damaged at offset {}; {}; what follows is not read", last.path, scan.end,
                      scan.last_tick ? fmt::format("tick {} before it is good", *scan.last_tick)
                                     : "no tick before it is good")));
    }
    if (!scan.last_tick) {
      // Nothing of it is left. All before it was durable when it was begun.
      found_.durable_at = last.header.previous;
      if (found_.durable_at) found_.durable_tick = found_.durable_at->tick;
      found_.segments.pop_back();
      check_mark();
      return {};
    }
    last.last_tick = *scan.last_tick;
    last.end = scan.end;
    last.index = std::move(scan.index);
    check_mark();
    if (writes_ && scan.is_torn && !found_.is_end_damaged) found_.report.cut_after = scan.last_tick;
    return split(last, *file, scan);
  }

  // What of the last segment is durable for certain, and what is not.
  Status split(const Segment& last, const File& file, const TailScan& scan) {
    const auto& closed_at = found_.mark.closed_at;
    const bool is_closed = closed_at && closed_at->segment_id == last.header.segment_id &&
                           closed_at->tick == last.last_tick;
    // What lies before damage was durable: that is how we know that it is damage.
    const bool is_durable = is_closed || found_.is_end_damaged;
    found_.durable_at = last.header.previous;
    if (scan.durable_tick) found_.durable_at = Link{last.header.segment_id, *scan.durable_tick};
    if (is_durable) found_.durable_at = Link{last.header.segment_id, last.last_tick};
    if (found_.durable_at) found_.durable_tick = found_.durable_at->tick;
    if (!writes_ || is_durable) return {};
    found_.unsure_codec = last.header.codec;
    EntryWalk walk(file, last.header, last.end, scan.unsure_offset);
    while (walk.last_tick() != last.last_tick) {
      VARVE_ASSIGN(const auto entry, walk.next());
      if (!entry) return io_error(fmt::format("{}: reads differently each time", last.path));
      // Not decompressed: nonsense under a good checksum stays one bad tick, and those behind it
      // are not lost for it.
      found_.unsure.push_back(
          {entry->header.tick, entry->header.is_stored, Bytes::copy_of(entry->payload)});
    }
    return {};
  }

  void check_mark() {
    const auto& closed_at = found_.mark.closed_at;
    if (!closed_at) return;
    std::optional<std::uint64_t> latest;
    for (const SegmentRef& segment : found_.segments) {
      latest = segment->last_tick;
      // The loss was told when this one was begun.
      const bool is_later = segment->header.segment_id > closed_at->segment_id;
      if (is_later && segment->header.after_damage) return;
    }
    if (latest && *latest >= closed_at->tick) return;
    found_.is_end_damaged = true;
    problem(corruption(fmt::format("{}: was closed at tick {}, but ends {}", files_.dir(),
                                   closed_at->tick,
                                   latest ? fmt::format("at tick {}", *latest) : "before it")));
  }

  void note_leftovers() {
    // With damage about, everything may be of use to somebody.
    if (!found_.report.problems.empty()) return;
    for (const std::uint64_t id : ids_) {
      const auto is_it = [id](const SegmentRef& s) { return s->header.segment_id == id; };
      const bool is_part =
          std::any_of(found_.segments.begin(), found_.segments.end(), is_it) || bad_.contains(id);
      if (!is_part) found_.leftover_ids.push_back(id);
    }
  }

  void problem(Error error) { found_.report.problems.push_back(std::move(error)); }

  const WalFiles& files_;
  const bool writes_;
  bool is_mark_lost_ = false;
  std::vector<std::uint64_t> ids_;
  std::map<std::uint64_t, SegmentRef> segments_;
  std::map<std::uint64_t, Error> bad_;
  Recovered found_;
};

}  // namespace

Result<Recovered> recover_wal(const WalFiles& files, bool writes) {
  for (int attempt = 1;; ++attempt) {
    auto found = Recovery(files, writes).run();
    const bool is_sure =
        found ? found->report.problems.empty() : found.error().code() != ErrorCode::not_found;
    if (writes || is_sure || attempt == kReaderAttempts) return found;
  }
}

}  // namespace varve::journal
