// The part of the Reclaimer that punches holes: dead values give their blocks back where they lie,
// and nothing is copied. Headers and directories stay, so that the segment can still be read.
#include <algorithm>
#include <mutex>

#include "backend/log/reclaimer.h"
#include "base/try.h"

namespace varve::log {
namespace {

// Looking through a segment pays when so much of it died since the last time.
bool is_worth_it(const Segment& segment) {
  return segment.dead_size() >= segment.punched_at_dead_size + segment.used_end / 12;
}

// Collects neighbouring dead bytes and punches the blocks that lie in them.
class HolePuncher {
 public:
  explicit HolePuncher(Segment& segment) : segment_(segment) {
    segment_.punched_blocks.resize(static_cast<std::size_t>(segment.used_end / kBlockSize));
  }

  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin != end_) {
      flush();
      begin_ = begin;
    }
    end_ = end;
  }

  Status finish() {
    flush();
    return std::move(status_);
  }
  std::uint64_t punched_size() const noexcept { return punched_count_ * kBlockSize; }

 private:
  void flush() {
    std::uint64_t first = round_up(begin_, kBlockSize) / kBlockSize;
    const std::uint64_t last = end_ / kBlockSize;
    while (first < last && status_) {
      // Those that are holes already are passed over.
      while (first < last && segment_.punched_blocks[first]) ++first;
      std::uint64_t next = first;
      while (next < last && !segment_.punched_blocks[next]) ++next;
      if (next == first) break;
      status_ = segment_.file->punch_hole(first * kBlockSize, (next - first) * kBlockSize);
      if (!status_) break;
      for (; first < next; ++first) {
        segment_.punched_blocks[first] = true;
        ++punched_count_;
      }
    }
    begin_ = end_ = 0;
  }

  Segment& segment_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t punched_count_ = 0;
  Status status_;
};

}  // namespace

SegmentRef Reclaimer::choose_for_holes() const {
  SegmentRef best;
  std::uint64_t best_size = 0;
  const std::shared_lock lock(state_.mutex());
  const std::uint64_t durable = writer_.durable_sequence();
  state_.for_each_segment([&](const SegmentRef& segment) {
    if (!segment->sealed || segment->damaged || segment->cleared || segment->file == nullptr ||
        segment == victim_ || segment == moved_ || !is_worth_it(*segment) ||
        !state_.is_followed(*segment, durable)) {
      return;
    }
    // What is nearly empty is cleared for less than its holes would cost.
    if (segment->live_size < segment->used_end / 8) return;
    const std::uint64_t size = segment->dead_size() - segment->punched_at_dead_size;
    if (size > best_size) {
      best = segment;
      best_size = size;
    }
  });
  return best;
}

Result<bool> Reclaimer::punch_holes(const Pins& pins) {
  if (!can_punch_) return false;
  const SegmentRef segment = choose_for_holes();
  if (segment == nullptr) return false;
  {
    // The table has one reference and this one is the other. Whoever comes later can only read what
    // lives, so one look is enough.
    const std::unique_lock lock(state_.mutex());
    segment->punched_at_dead_size = segment->dead_size();
    if (segment.use_count() > 2) return true;
  }
  const Status punched = punch(segment, pins);
  if (!punched && punched.error().code() == ErrorCode::unsupported) {
    can_punch_ = false;
    return false;
  }
  VARVE_TRY(punched);
  return true;
}

Status Reclaimer::punch(const SegmentRef& segment, const Pins& pins) {
  HolePuncher puncher(*segment);
  std::uint64_t used_end = 0;
  {
    const std::shared_lock lock(state_.mutex());
    used_end = segment->used_end;
  }
  std::vector<bool> is_dead;
  for (std::uint64_t offset = kBlockSize; offset < used_end;) {
    auto batch = read_batch(*segment->file, used_end, offset, segment->salt);
    if (!batch || !*batch) {
      const std::unique_lock lock(state_.mutex());
      segment->damaged = true;
      break;
    }
    offset = (*batch)->end();
    const std::vector<DirectoryEntry>& entries = (*batch)->entries;
    is_dead.assign(entries.size(), false);
    {
      const std::shared_lock lock(state_.mutex());
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].erases) continue;
        const auto place = state_.index().find(entries[i].key);
        is_dead[i] =
            (!place || place->slot != segment->slot || place->offset() != entries[i].offset) &&
            !is_needed(pins, *segment, entries[i].version);
      }
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!is_dead[i]) continue;
      const std::uint64_t begin = entries[i].offset;
      std::uint64_t end =
          begin + round_up(kValueHeaderSize + entries[i].value_size, Location::kUnit);
      // The padding behind the last value goes with it.
      if (end == (*batch)->offset + (*batch)->header.size) end = (*batch)->end();
      puncher.add(begin, end);
    }
  }
  Status status = puncher.finish();
  const std::unique_lock lock(state_.mutex());
  segment->punched_size += puncher.punched_size();
  segment->punched_at_dead_size = segment->dead_size();
  return status;
}

}  // namespace varve::log
