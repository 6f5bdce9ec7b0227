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
    // One more than there are, since a segment that was cut may end inside a block.
    segment_.punched_blocks.resize(static_cast<std::size_t>(segment.used_end / kBlockSize) + 1);
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
    const std::uint64_t last =
        std::min<std::uint64_t>(end_ / kBlockSize, segment_.punched_blocks.size());
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
        segment == victim_ || segment == moved_ || segment->moved_from || !is_worth_it(*segment) ||
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

Result<bool> Reclaimer::punch_holes() {
  if (!can_punch_) return false;
  const SegmentRef segment = choose_for_holes();
  if (segment == nullptr) return false;
  std::vector<DeadValue> dead = find_dead(*segment);
  // Only now: what died after the look may be needed by whoever came after this.
  VARVE_TRY(writer_.sync());
  VARVE_ASSIGN(const Pins held, pins());
  {
    const std::unique_lock lock(state_.mutex());
    segment->punched_at_dead_size = segment->dead_size();
    // The table has one reference and this one is the other. Whoever comes later finds nothing of
    // what was dead before, so one look is enough.
    if (segment.use_count() > 2) return true;
    std::erase_if(dead,
                  [&](const DeadValue& value) { return is_needed(held, *segment, value.version); });
  }
  HolePuncher puncher(*segment);
  for (const DeadValue& value : dead) puncher.add(value.begin, value.end);
  const Status punched = puncher.finish();
  {
    const std::unique_lock lock(state_.mutex());
    segment->punched_size += puncher.punched_size();
    segment->punched_at_dead_size = segment->dead_size();
  }
  if (!punched && punched.error().code() == ErrorCode::unsupported) {
    can_punch_ = false;
    return false;
  }
  VARVE_TRY(punched);
  return true;
}

std::vector<Reclaimer::DeadValue> Reclaimer::find_dead(Segment& segment) const {
  std::vector<DeadValue> dead;
  std::uint64_t used_end = 0;
  {
    const std::shared_lock lock(state_.mutex());
    used_end = segment.used_end;
  }
  std::uint64_t chain = segment.salt;
  for (std::uint64_t offset = kBlockSize; offset < used_end;) {
    const auto batch = read_batch(*segment.file, used_end, offset, segment.salt);
    // A head that is out of its place has its checksum all the same, and would have the values of
    // others punched.
    if (!batch || !*batch || (*batch)->header.chain != chain) {
      const std::unique_lock lock(state_.mutex());
      segment.damaged = true;
      break;
    }
    offset = (*batch)->end();
    chain = (*batch)->header.checksum;
    const std::shared_lock lock(state_.mutex());
    for (const DirectoryEntry& entry : (*batch)->entries) {
      if (entry.erases) continue;
      const auto place = state_.index().find(entry.key);
      if (place && place->slot == segment.slot && place->offset() == entry.offset) continue;
      std::uint64_t end =
          entry.offset + round_up(kValueHeaderSize + entry.value_size, Location::kUnit);
      // The padding behind the last value goes with it.
      if (end == (*batch)->offset + (*batch)->header.size) end = (*batch)->end();
      dead.push_back({.begin = entry.offset, .end = end, .version = entry.version});
    }
  }
  return dead;
}

}  // namespace varve::log
