#include "backend/log/reclaimer.h"

#include <algorithm>
#include <mutex>

#include "backend/log/reader_pins.h"
#include "base/try.h"

namespace varve::log {

Result<Reclaimer::Pins> Reclaimer::pins() const {
  // The order is what makes it safe: see reader_pins.h.
  VARVE_TRY(writer_.publish_horizon());
  Pins pins;
  VARVE_ASSIGN(pins.readers, read_pins(files_.vfs(), files_.readers_path()));
  const std::shared_lock lock(state_.mutex());
  for (const SnapshotList::Held& held : state_.snapshots().all()) {
    pins.snapshots.push_back(held.sequence);
  }
  return pins;
}

bool Reclaimer::is_needed(const Pins& pins, const Segment& segment, std::uint64_t version) const {
  const auto sees = [&](std::uint64_t sequence) {
    return version <= sequence && sequence < segment.last_death;
  };
  return std::any_of(pins.snapshots.begin(), pins.snapshots.end(), sees) ||
         std::any_of(pins.readers.begin(), pins.readers.end(), [&](const PinRecord& pin) {
           // A reader that is just opening may come to see anything. One from before
           // this writer may look for what was moved where it was before.
           return pin.sequence == 0 || sees(pin.sequence) ||
                  pin.generation < checkpointer_.first_generation();
         });
}

bool Reclaimer::may_go(const Pins& pins, const Segment& segment) const {
  if (!segment.cleared || segment.live_count != 0 || segment.free_generation == 0) return false;
  if (segment.free_generation > checkpointer_.durable_generation()) return false;
  const bool is_seen =
      std::any_of(pins.snapshots.begin(), pins.snapshots.end(), [&](std::uint64_t sequence) {
        // Moved records are older than the segment they are in.
        const bool is_older =
            segment.kind == SegmentKind::moved || segment.first_sequence <= sequence;
        return is_older && sequence < segment.last_death;
      });
  return !is_seen && std::none_of(pins.readers.begin(), pins.readers.end(), [&](const auto& pin) {
    return pin.generation < segment.free_generation && may_know(pin, segment);
  });
}

bool Reclaimer::may_know(const PinRecord& pin, const Segment& segment) {
  // A reader may have in its index whatever its checkpoint has, since records are moved without a
  // batch, and what came later up to the batch it shows.
  return pin.sequence == 0 || segment.kind == SegmentKind::moved ||
         segment.first_sequence <= pin.sequence;
}

Reclaimer::Sizes Reclaimer::sizes() const {
  Sizes sizes;
  sizes.allocated = writer_.spare_size() + checkpointer_.size();
  const std::shared_lock lock(state_.mutex());
  sizes.live = state_.live_cost();
  state_.for_each_segment([&](const SegmentRef& segment) {
    sizes.allocated += segment->allocated_size();
    if (segment->cleared) sizes.cleared += segment->allocated_size();
    sizes.erasures += segment->erasure_size;
  });
  return sizes;
}

bool Reclaimer::exceeds(const Sizes& sizes, std::uint64_t allocated,
                        std::uint64_t percent_max) const {
  return allocated > sizes.live / 100 * percent_max + options_.reclaim_size_min;
}

bool Reclaimer::is_over(std::uint64_t percent_max, std::uint64_t new_size) const {
  const Sizes now = sizes();
  return exceeds(now, now.allocated - std::min(now.allocated, new_size), percent_max);
}

void Reclaimer::start(const Recovered& recovered) {
  // Used under another name: that its own one is durable cannot be told.
  recyclable_ = recovered.spare;
  doomed_ = recovered.leftovers;
}

void Reclaimer::measure_holes() {
  has_measured_ = true;
  std::vector<SegmentRef> segments;
  {
    const std::shared_lock lock(state_.mutex());
    segments = state_.segments();
  }
  for (const SegmentRef& segment : segments) {
    if (segment == nullptr || segment->file == nullptr) continue;
    const auto info = files_.vfs().info(files_.segment_path(segment->id));
    if (!info) continue;  // Counted as if it had none.
    const std::unique_lock lock(state_.mutex());
    if (!segment->sealed || info->size != segment->file_size) continue;
    const std::uint64_t holes = info->size - std::min(info->allocated_size, info->size);
    segment->punched_size = std::max(segment->punched_size, holes);
  }
}

Status Reclaimer::remove_doomed() {
  // Until then a crash may bring back a checkpoint that refers to them.
  if (doomed_.empty() || !checkpointer_.has_written()) return {};
  for (const std::uint64_t id : doomed_) {
    const Status removed = files_.remove(id);
    if (!removed && removed.error().code() != ErrorCode::not_found) return removed;
  }
  // Erasures are dropped on the strength of this, so it must not be undone by a crash.
  VARVE_TRY(files_.vfs().sync_dir(files_.dir()));
  doomed_.clear();
  return {};
}

Result<bool> Reclaimer::step(std::uint64_t percent_max) {
  copied_size_ = 0;
  VARVE_TRY(remove_doomed());
  if (!has_measured_) measure_holes();
  const Sizes now = sizes();
  if (!exceeds(now, now.allocated, percent_max)) return false;
  // What died in batches that are not durable may come back with a crash.
  VARVE_TRY(writer_.sync());
  VARVE_ASSIGN(const Pins held, pins());
  VARVE_ASSIGN(bool did, free_segments(held));
  if (did) return true;
  if (exceeds(now, now.allocated - now.cleared, percent_max)) {
    VARVE_ASSIGN(did, punch_holes());
    if (did) return true;
    VARVE_ASSIGN(did, move_records(held));
    if (did) return true;
  }
  // Segments that only wait for a checkpoint: worth one if they are larger than it.
  const bool waits = now.cleared > 2 * checkpointer_.size() && checkpointer_.has_checkpoint();
  bool is_unstamped = false;
  {
    const std::shared_lock lock(state_.mutex());
    state_.for_each_segment([&](const SegmentRef& segment) {
      is_unstamped = is_unstamped || (segment->cleared && segment->free_generation == 0);
    });
  }
  if (!waits || !is_unstamped) return false;
  VARVE_TRY(checkpointer_.write());
  return true;
}

Result<bool> Reclaimer::free_segments(const Pins& pins) {
  // What recovery dropped goes before anything that tells that it was dropped.
  VARVE_TRY(remove_doomed());
  std::vector<SegmentRef> gone;
  {
    const std::shared_lock lock(state_.mutex());
    state_.for_each_segment([&](const SegmentRef& segment) {
      if (segment->file != nullptr && may_go(pins, *segment)) gone.push_back(segment);
    });
  }
  // Somebody who found something in it may be about to open it, by its name.
  std::erase_if(gone, [](const SegmentRef& segment) { return !segment->file->size(); });
  {
    const std::unique_lock lock(state_.mutex());
    for (const SegmentRef& segment : gone) state_.remove(*segment);
  }
  for (SegmentRef& segment : gone) {
    // Nobody can get at it any more; who had it before still has a reference.
    const bool is_whole =
        segment->punched_size == 0 && segment->file_size >= options_.prepared_size_min;
    if (recyclable_ == nullptr && is_whole && segment.use_count() == 1 && writer_.needs_spare()) {
      recyclable_ = std::move(segment);
    } else {
      doomed_.push_back(segment->id);
    }
  }
  VARVE_TRY(remove_doomed());
  return !gone.empty();
}

Status Reclaimer::prepare_spare() {
  if (!writer_.needs_spare()) return {};
  const std::uint64_t size = writer_.prepared_size();
  if (recyclable_ == nullptr && sizes().cleared != 0) {
    // One that has been written saves writing zeros.
    VARVE_ASSIGN(const Pins held, pins());
    VARVE_TRY(free_segments(held));
  }
  if (recyclable_ != nullptr) {
    // Let go of first: what is mapped must not be cut.
    const std::uint64_t old_id = std::exchange(recyclable_, nullptr)->id;
    if (auto spare = files_.recycle(old_id, size)) return give(*std::move(spare));
    // Under one name or another it is of no use to anybody.
    doomed_.push_back(old_id);
  }
  VARVE_ASSIGN(SegmentRef spare, files_.create(SegmentKind::log, size));
  return give(std::move(spare));
}

Status Reclaimer::give(SegmentRef spare) {
  const std::uint64_t id = spare->id;
  if (writer_.set_spare(std::move(spare))) return {};
  // Nothing was ever in it, so that nobody can miss it.
  return files_.remove(id);
}

}  // namespace varve::log
