#include "backend/log/log_recovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/log/recovery.h"
#include "base/try.h"

namespace varve::log {

Result<std::optional<Recovered>> Recovery::run() {
  auto checkpoint = load_checkpoint(files_);
  if (!checkpoint && checkpoint.error().code() != ErrorCode::corruption) {
    return checkpoint.error();
  }
  const bool has_checkpoint = checkpoint && *checkpoint;
  VARVE_TRY(read_control());
  // Last, so that beside a writer everything it had published by then is among them.
  std::string set_aside;
  VARVE_ASSIGN(listed_, files_.list(&set_aside));
  if (listed_.empty() && checkpoint && !*checkpoint) return std::nullopt;
  if (!checkpoint) problem(checkpoint.error());
  bool is_usable = has_checkpoint;
  if (has_checkpoint) {
    const std::uint64_t needed_sequence = (*checkpoint)->head.needed_sequence;
    VARVE_TRY(from_checkpoint(std::move(**checkpoint)));
    // The image has parts of batches that cannot be read, which is neither what was before them
    // nor what was after.
    is_usable = out_.sequence >= needed_sequence;
    if (!is_usable) {
      lost(corruption(fmt::format(
          "{}: it cannot be read on behind batch {}, and its checkpoint needs batch {}; it is put "
          "together without that one, from what can be read of its segments",
          files_.dir(), out_.sequence, needed_sequence)));
      needed_log_id_ = out_.log_id;
      needed_sequence_ = needed_sequence;
    }
  }
  if (!is_usable) {
    start_over();
    VARVE_TRY(from_segments());
  }
  if (ends_early_) lost(*std::move(ends_early_));
  if (!is_usable && is_unfinished()) return std::nullopt;
  if (!out_.report.loss && !set_aside.empty()) {
    out_.report.loss = corruption(fmt::format(
        "{}: something was damaged when this was set aside, and what it held may be missing; move "
        "the file away once nothing is needed of it",
        set_aside));
  }
  settle();
  VARVE_ASSIGN(out_.is_overtaken, is_overtaken());
  return std::move(out_);
}

const ListedSegment* Recovery::find_listed(std::uint64_t id) const {
  const auto found =
      std::lower_bound(listed_.begin(), listed_.end(), id,
                       [](const ListedSegment& each, std::uint64_t id) { return each.id < id; });
  return found != listed_.end() && found->id == id ? &*found : nullptr;
}

Status Recovery::add_known(const CheckpointSegment& known, bool is_in_use) {
  const SegmentHeader header{
      .log_id = out_.log_id, .segment_id = known.id, .salt = known.salt, .kind = known.kind};
  const std::string path = files_.segment_path(known.id);
  const ListedSegment* const listed = find_listed(known.id);
  auto opened = listed != nullptr
                    ? open_known_segment(files_.vfs(), path, mode(), header, listed->size)
                    : Result<SegmentRef>(not_found(path + ": no such file"));
  // The others are looked at when something is read from them.
  if (opened && is_in_use) {
    const Status checked = check_header(**opened);
    if (!checked && checked.error().code() != ErrorCode::corruption) return checked;
    // What it should say is known. What is not in it is found out by its batches and values.
    if (!checked) problem(checked.error());
  }
  SegmentRef segment;
  if (opened) {
    segment = *opened;
  } else if (opened.error().code() == ErrorCode::not_found ||
             opened.error().code() == ErrorCode::corruption) {
    problem(opened.error().with_context("a segment is lost, and every value in it"));
    segment = std::make_shared<Segment>(nullptr, header);
    segment->damaged = true;
  } else {
    return opened.error();
  }
  segment->used_end = known.used_end;
  if (opened && segment->file_size < known.used_end) {
    problem(corruption(fmt::format("{}: {} bytes are left of {}; the values in the rest are lost",
                                   path, segment->file_size, known.used_end)));
    segment->used_end = segment->file_size;
    segment->damaged = true;
  }
  segment->sealed = true;
  segment->first_sequence = known.first_sequence;
  // What is lost occupies nothing, and what was cut off is no hole.
  segment->punched_size = std::min(known.punched_size, segment->file_size);
  segment->erasure_size = known.erasure_size;
  state_.add_at(segment, known.slot);
  return {};
}

Status Recovery::from_checkpoint(Checkpoint checkpoint) {
  const CheckpointHead& head = checkpoint.head;
  out_.log_id = head.log_id;
  out_.generation = out_.known_generation = head.generation;
  out_.next_segment_id = head.next_segment_id;
  const std::uint64_t known = published(head.log_id);
  // The checkpoint was synced and the control file was not, so that after the end of the power it
  // may say less. The image may hold parts of every batch up to this one.
  if (reader_limit_) reader_limit_ = std::max(*reader_limit_, head.needed_sequence);
  SegmentRef tail;
  for (const CheckpointSegment& known : head.segments) {
    VARVE_TRY(add_known(known, known.kind == SegmentKind::log && known.id >= head.tail_segment_id));
    if (known.id == head.tail_segment_id) tail = state_.segments()[known.slot];
  }
  for (std::size_t slot = 0; slot < state_.segments().size(); ++slot) {
    if (state_.segments()[slot] != nullptr) continue;
    // Nothing points there unless the checkpoint is damaged in a way its checksum fits.
    auto absent = std::make_shared<Segment>(nullptr, SegmentHeader{});
    absent->damaged = absent->sealed = true;
    state_.add_at(absent, static_cast<std::uint16_t>(slot));
  }
  state_.set_index(std::move(checkpoint.index), checkpoint.uses);
  state_.for_each_segment([&](const SegmentRef& segment) {
    if (segment->id == 0 && segment->live_count == 0) state_.remove(*segment);
  });

  VARVE_ASSIGN(std::vector<SegmentRef> segments, segments_behind(head));
  const bool has_tail = tail != nullptr && tail->file != nullptr;
  if (has_tail) segments.insert(segments.begin(), tail);
  LogWalk log(head.sequence, std::max(known, head.needed_sequence), reader_limit_, false,
              [this](const SegmentRef& segment, const Batch& batch) { apply(segment, batch); });
  if (has_tail) return walk(log, segments, head.tail_offset, head.tail_chain);
  // It goes on at the beginning of the next one, if nothing had come behind the checkpoint.
  return walk(log, segments, kBlockSize, segments.empty() ? 0 : segments.front()->salt);
}

Result<std::vector<SegmentRef>> Recovery::segments_behind(const CheckpointHead& head) {
  std::unordered_map<std::uint64_t, const CheckpointSegment*> known;
  for (const CheckpointSegment& each : head.segments) known.emplace(each.id, &each);
  std::vector<SegmentRef> segments;
  for (const ListedSegment& listed : listed_) {
    const std::uint64_t id = listed.id;
    out_.next_segment_id = std::max(out_.next_segment_id, id + 1);
    if (const auto found = known.find(id); found != known.end()) {
      // One that came while the checkpoint was written is known to it, but its batches are later.
      const SegmentRef& segment = state_.segments()[found->second->slot];
      if (found->second->kind == SegmentKind::log && id > head.tail_segment_id &&
          segment->file != nullptr) {
        segment->erasure_size = 0;  // Counted again with them.
        segments.push_back(segment);
      }
      continue;
    }
    auto segment = open(id);
    if (segment && (*segment)->log_id != head.log_id) {
      segment =
          corruption(fmt::format("{}: this is a segment of another log", files_.segment_path(id)));
    }
    if (segment && (*segment)->kind == SegmentKind::log && id > head.tail_segment_id) {
      segments.push_back(*std::move(segment));
    } else if (segment || segment.error().code() == ErrorCode::not_found) {
      out_.leftovers.push_back(id);
    } else if (segment.error().code() == ErrorCode::corruption) {
      lost(segment.error());
      out_.set_aside.push_back(id);
    } else {
      return segment.error();
    }
  }
  return segments;
}

void Recovery::add_moved(const SegmentRef& segment) {
  FindBudget budget(segment->file_size);
  for (std::uint64_t offset = kBlockSize; offset < segment->file_size;) {
    auto batch = find_batch(*segment->file, segment->file_size, offset, segment->salt, budget);
    if (!batch) return lost(batch.error());
    if (!*batch && budget.is_spent()) {
      lost(corruption(segment->file->path() +
                      ": what its headers claim is more than it has room for, and what is not "
                      "in one block was passed over"));
    }
    if (!*batch) return;
    for (const DirectoryEntry& entry : (*batch)->entries) {
      if (entry.erases) segment->erasure_size += erasure_cost(entry);
      std::uint64_t& version = moved_versions_[std::string(as_text(entry.key))];
      if (version > entry.version) continue;
      // There are two copies, or there were.
      if (version == entry.version && !entry.erases && !is_whole(*segment, entry)) continue;
      version = entry.version;
      const Location location{
          .slot = segment->slot,
          .offset_unit = static_cast<std::uint32_t>(entry.offset / Location::kUnit),
          .value_size = entry.value_size};
      if (entry.erases) {
        state_.erase(entry.key, entry.version);
      } else {
        state_.put(entry.key, location, entry.version);
      }
    }
    if (segment->first_sequence == 0) segment->first_sequence = (*batch)->header.first_sequence;
    segment->used_end = offset = (*batch)->end();
  }
}

Status Recovery::from_segments() {
  is_rebuilding_ = true;
  std::vector<SegmentRef> logs;
  std::vector<SegmentRef> moved;
  for (const auto& [id, size] : listed_) {
    out_.next_segment_id = std::max(out_.next_segment_id, id + 1);
    auto segment = open(id);
    if (!segment && segment.error().code() == ErrorCode::not_found) continue;
    if (!segment && segment.error().code() != ErrorCode::corruption) return segment.error();
    if (!segment) {
      lost(segment.error());
      out_.set_aside.push_back(id);
      continue;
    }
    ((*segment)->kind == SegmentKind::log ? logs : moved).push_back(*std::move(segment));
  }
  for (const SegmentRef& segment : moved) {
    segment->sealed = true;
    VARVE_TRY(state_.add(segment));
    add_moved(segment);
  }
  if (!moved.empty()) out_.log_id = moved.back()->log_id;
  if (!logs.empty()) out_.log_id = logs.back()->log_id;
  // Nothing of a log but files that are called like segments.
  if (out_.log_id == 0) out_.log_id = files_.new_log_id();
  std::uint64_t known = published(out_.log_id);
  if (out_.log_id == needed_log_id_) {
    known = std::max(known, needed_sequence_);
    if (reader_limit_) reader_limit_ = std::max(*reader_limit_, needed_sequence_);
  }
  LogWalk log(0, known, reader_limit_, true,
              [this](const SegmentRef& segment, const Batch& batch) { apply(segment, batch); });
  VARVE_TRY(walk(log, logs, kBlockSize, logs.empty() ? 0 : logs.front()->salt));
  out_.report.rebuilt_index = out_.sequence != 0;
  if (log.gap_count() != 0) {
    const std::string places =
        log.gap_count() == 1 ? "one place" : fmt::format("{} places", log.gap_count());
    lost(
        corruption(fmt::format("{}: in {} batches that were durable cannot be read; what they "
                               "held is missing, or older than it should be",
                               files_.dir(), places)));
  }
  return {};
}

bool Recovery::is_unfinished() {
  if (out_.sequence != 0 || state_.index().count() != 0 || !out_.report.problems.empty()) {
    return false;
  }
  state_.for_each_segment([&](const SegmentRef& segment) { state_.remove(*segment); });
  return true;
}

Result<std::optional<Recovered>> recover_log(const SegmentFiles& files, LogState& state,
                                             const RecoveryOptions& options) {
  for (;;) {
    VARVE_ASSIGN(std::optional<Recovered> recovered, Recovery(files, state, options).run());
    if (!recovered || !recovered->is_overtaken) return recovered;
    state.clear();
  }
}

}  // namespace varve::log
