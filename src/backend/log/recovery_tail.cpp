#include <fmt/format.h>

#include <algorithm>

#include "backend/log/recovery.h"
#include "base/try.h"

namespace varve::log {

namespace {

// The last change of each key of a batch, once somebody asks.
class LastChanges {
 public:
  explicit LastChanges(const std::vector<DirectoryEntry>& entries) : entries_(entries) {}

  bool has(const DirectoryEntry& entry) {
    if (last_.empty())
      for (const DirectoryEntry& each : entries_) last_[as_text(each.key)] = &each;
    return last_[as_text(entry.key)] == &entry;
  }

 private:
  const std::vector<DirectoryEntry>& entries_;
  std::unordered_map<std::string_view, const DirectoryEntry*> last_;
};

}  // namespace

void Recovery::apply(const SegmentRef& segment, const Batch& batch) {
  LastChanges last_changes(batch.entries);
  for (const DirectoryEntry& entry : batch.entries) {
    if (entry.erases) segment->erasure_size += erasure_cost(entry);
    if (is_rebuilding_ && !moved_versions_.empty()) {
      const auto moved = moved_versions_.find(std::string(as_text(entry.key)));
      if (moved != moved_versions_.end() && moved->second >= entry.version) {
        // What was moved is what the batch left of the key: one it had put before is none.
        const bool is_same =
            moved->second == entry.version && !entry.erases && last_changes.has(entry);
        if (!is_same || !is_whole(*segment, entry)) continue;
      }
    }
    if (entry.erases) {
      state_.erase(entry.key, batch.header.sequence);
    } else {
      state_.put(entry.key,
                 {.slot = segment->slot,
                  .offset_unit = static_cast<std::uint32_t>(entry.offset / Location::kUnit),
                  .value_size = entry.value_size},
                 batch.header.sequence);
    }
  }
  if (segment->first_sequence == 0) segment->first_sequence = batch.header.first_sequence;
  segment->used_end = batch.end();
}

Status Recovery::walk(LogWalk& log, const std::vector<SegmentRef>& segments, std::uint64_t offset,
                      std::uint64_t chain) {
  SegmentRef last_known = segments.empty() ? nullptr : segments.front();
  const std::uint64_t start_offset = offset;
  const std::uint64_t start_chain = chain;
  bool in_order = true;
  for (const SegmentRef& segment : segments) {
    const bool is_first = segment == segments.front();
    if (!is_first) {
      offset = kBlockSize;
      chain = segment->salt;
    }
    if (state_.segments().size() <= segment->slot || state_.segments()[segment->slot] != segment) {
      VARVE_TRY(state_.add(segment));
    }
    if (in_order) {
      VARVE_ASSIGN(in_order, log.segment(segment, offset, chain));
    }
    if (!in_order) out_.set_aside.push_back(segment->id);
    if (!in_order && is_first) last_known = nullptr;
  }
  VARVE_TRY(log.finish());
  out_.active = log.last_segment() != nullptr ? log.last_segment() : last_known;
  out_.chain = log.last_segment() != nullptr ? log.chain() : start_chain;
  if (log.last_segment() == nullptr && last_known != nullptr) last_known->used_end = start_offset;
  note_end(log);
  return sort_out_empty(segments);
}

void Recovery::note_end(const LogWalk& log) {
  out_.sequence = log.sequence();
  out_.durable_sequence = log.durable_sequence();
  out_.unsure_count = log.unsure_count();
  out_.unsure_offset = log.unsure_offset();
  out_.unsure_erases = log.unsure_erases();
  out_.tail_batch_count = log.batch_count();
  out_.tail_size = log.size();
  // To a reader it is only a batch that is being written.
  out_.report.dropped_tail = log.dropped_tail() && !reader_limit_;
  // Written over in place, a batch that is the very same as a dropped one would bring back those
  // behind it.
  out_.dropped_in_active = log.dropped_tail();
  out_.needs_new_segment = log.dropped_behind() || log.dropped_tail();
  // Without a header, only a checkpoint would know what the next batches are.
  if (out_.active != nullptr && !check_header(*out_.active)) out_.needs_new_segment = true;
  if (log.sequence() < log.known_durable()) {
    ends_early_ = corruption(fmt::format(
        "{}: batches {} to {} were durable and cannot be read; this is what was there before them",
        files_.dir(), log.sequence() + 1, log.known_durable()));
    out_.active_is_damaged = true;
  }

  if (out_.active == nullptr) return;
  const std::uint64_t durable_end =
      out_.unsure_count != 0 ? out_.unsure_offset : out_.active->used_end;
  out_.active_durable_size =
      std::min(std::max(durable_end, published_size(*out_.active)), out_.active->file_size);
  // After a power cut they may be durable for all we know, and promised: then nobody touches
  // them, not even with their own bytes.
  const bool is_same_boot =
      published_ && published_->boot_id != 0 && published_->boot_id == files_.vfs().boot_id();
  out_.unsure_in_place =
      is_same_boot && !out_.active_is_damaged && out_.active_durable_size >= out_.active->used_end;
}

Status Recovery::sort_out_empty(const std::vector<SegmentRef>& segments) {
  for (const SegmentRef& segment : segments) {
    // What comes in the segment in use is nothing to a reader, and it may be gone one day.
    const bool is_in_use = segment == out_.active && options_.writes;
    if (is_in_use || segment->first_sequence != 0) continue;
    if (segment->live_count != 0) {
      // The checkpoint has values in it that cannot be found any more. Their place is kept for
      // them, or they would be looked for in whatever came there next.
      segment->damaged = true;
      continue;
    }
    state_.remove(*segment);
    const bool is_behind = out_.active == nullptr || segment->id > out_.active->id;
    const auto& aside = out_.set_aside;
    if (std::find(aside.begin(), aside.end(), segment->id) != aside.end()) continue;
    if (out_.active_is_damaged) {
      // Its first batch may be the damaged one, and then the others are all that is left.
      FindBudget budget(segment->file_size);
      VARVE_ASSIGN(const auto batch, find_batch(*segment->file, segment->file_size, kBlockSize,
                                                segment->salt, budget));
      if (batch || budget.is_spent()) {
        out_.set_aside.push_back(segment->id);
        continue;
      }
    }
    // The next one to be used, or nothing.
    if (is_behind && out_.spare == nullptr) {
      out_.spare = segment;
    } else {
      out_.leftovers.push_back(segment->id);
    }
  }
  return {};
}

void Recovery::settle() {
  state_.set_sequence(out_.sequence);
  if (out_.durable_sequence > out_.sequence) out_.durable_sequence = out_.sequence;
  state_.for_each_segment([&](const SegmentRef& segment) {
    // When what is dead in it died is not known any more.
    segment->last_death = out_.sequence;
    segment->sealed = segment != out_.active || out_.active_is_damaged;
  });
}

}  // namespace varve::log
