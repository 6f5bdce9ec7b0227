#include "backend/log/log_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "backend/log/checkpoint.h"
#include "backend/log/control_file.h"
#include "backend/log/log_walk.h"
#include "base/try.h"

namespace varve::log {
namespace {

// The directory's share of an erasure.
std::uint64_t erasure_cost(const DirectoryEntry& entry) { return entry.key.size() + kErasureSize; }

// A copy that was being carried over when the power went, or an original that was given back.
bool is_whole(const Segment& segment, const DirectoryEntry& entry) {
  return has_value(*segment.file, entry, segment.salt).value_or(false);
}

class Recovery {
 public:
  Recovery(const SegmentFiles& files, LogState& state, const RecoveryOptions& options)
      : files_(files), state_(state), options_(options) {}

  Result<std::optional<Recovered>> run() {
    auto checkpoint = load_checkpoint(files_);
    if (!checkpoint && checkpoint.error().code() != ErrorCode::corruption) {
      return checkpoint.error();
    }
    const bool has_checkpoint = checkpoint && *checkpoint;
    VARVE_TRY(read_control());
    // Last, so that beside a writer everything it had published by then is among them.
    VARVE_ASSIGN(ids_, files_.list());
    if (ids_.empty() && checkpoint && !*checkpoint) return std::nullopt;
    if (!checkpoint) problem(checkpoint.error());
    bool is_usable = has_checkpoint;
    if (has_checkpoint) {
      const std::uint64_t needed_sequence = (*checkpoint)->head.needed_sequence;
      VARVE_TRY(from_checkpoint(std::move(**checkpoint)));
      // The image has parts of batches that cannot be read, which is neither what was before them
      // nor what was after.
      is_usable = out_.sequence >= needed_sequence;
    }
    if (!is_usable) {
      start_over();
      VARVE_TRY(from_segments());
      if (is_unfinished()) return std::nullopt;
    }
    settle();
    return std::move(out_);
  }

 private:
  void problem(Error error) { out_.report.problems.push_back(std::move(error)); }
  OpenMode mode() const { return options_.writes ? OpenMode::write : OpenMode::read; }

  Status read_control() {
    auto control = ControlFile::open(files_.vfs(), files_.control_path(), false);
    if (!control) return control.error();
    VARVE_ASSIGN(published_, control->read());
    return {};
  }
  // What was published for this log; a record of another one says nothing.
  std::uint64_t published(std::uint64_t log_id) {
    if (!published_ || published_->log_id != log_id) return 0;
    if (options_.published_only) sequence_max_ = published_->durable_sequence;
    return published_->durable_sequence;
  }

  // How much of a segment's file was durable for sure.
  std::uint64_t published_size(const Segment& segment) const {
    const bool is_it = published_ && published_->log_id == segment.log_id &&
                       published_->active_segment_id == segment.id;
    return is_it ? published_->active_size : 0;
  }

  Result<SegmentRef> open(std::uint64_t id) {
    return open_segment(files_.vfs(), files_.segment_path(id), mode(), id);
  }

  Status from_checkpoint(Checkpoint checkpoint);
  // Forgets all but what was wrong.
  void start_over() {
    Recovered empty;
    empty.report.problems = std::move(out_.report.problems);
    empty.known_generation = out_.known_generation;
    out_ = std::move(empty);
    state_.clear();
  }
  // A segment the checkpoint names; one that is lost leaves its place. The log goes on in one that
  // is in use.
  Status add_known(const CheckpointSegment& known, bool is_in_use);
  Status from_segments();
  // Nothing was ever written to it.
  bool is_unfinished();
  void add_moved(const SegmentRef& segment);
  // Log segments from `first` on, rising.
  Status walk(LogWalk& walk, const std::vector<SegmentRef>& segments, std::uint64_t offset,
              std::uint64_t chain);
  void apply(const SegmentRef& segment, const Batch& batch);
  void settle();

  const SegmentFiles& files_;
  LogState& state_;
  const RecoveryOptions& options_;
  std::vector<std::uint64_t> ids_;
  std::optional<ControlRecord> published_;
  std::optional<std::uint64_t> sequence_max_;
  // Without a checkpoint: which version of a key moved segments hold.
  std::unordered_map<std::string, std::uint64_t> moved_versions_;
  bool is_rebuilding_ = false;
  Recovered out_;
};

void Recovery::apply(const SegmentRef& segment, const Batch& batch) {
  for (const DirectoryEntry& entry : batch.entries) {
    if (entry.erases) segment->erasure_size += erasure_cost(entry);
    if (is_rebuilding_ && !moved_versions_.empty()) {
      const auto moved = moved_versions_.find(std::string(as_text(entry.key)));
      if (moved != moved_versions_.end() && moved->second >= entry.version) {
        const bool is_same = moved->second == entry.version && !entry.erases;
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

Status Recovery::add_known(const CheckpointSegment& known, bool is_in_use) {
  const SegmentHeader header{
      .log_id = out_.log_id, .segment_id = known.id, .salt = known.salt, .kind = known.kind};
  auto opened = open_known_segment(files_.vfs(), files_.segment_path(known.id), mode(), header);
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
    problem(
        corruption(fmt::format("{}: {} bytes are left of {}; the values in the rest are lost",
                               files_.segment_path(known.id), segment->file_size, known.used_end)));
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
  if (sequence_max_) sequence_max_ = std::max(*sequence_max_, head.needed_sequence);
  SegmentRef tail;
  for (const CheckpointSegment& known : head.segments) {
    VARVE_TRY(add_known(known, known.kind == SegmentKind::log && known.id >= head.tail_segment_id));
    if (known.id == head.tail_segment_id) tail = state_.segments()[known.slot];
  }
  // Counted now, since applying batches counts on from there.
  state_.set_index(std::move(checkpoint.index));
  for (std::size_t slot = 0; slot < state_.segments().size(); ++slot) {
    if (state_.segments()[slot] != nullptr) continue;
    // Nothing points there unless the checkpoint is damaged in a way its checksum fits.
    auto absent = std::make_shared<Segment>(nullptr, SegmentHeader{});
    absent->damaged = absent->sealed = true;
    state_.add_at(absent, static_cast<std::uint16_t>(slot));
  }
  state_.recount();
  state_.for_each_segment([&](const SegmentRef& segment) {
    if (segment->id == 0 && segment->live_count == 0) state_.remove(*segment);
  });

  std::vector<SegmentRef> segments;
  const bool has_tail = tail != nullptr && tail->file != nullptr;
  if (has_tail) segments.push_back(tail);
  for (const std::uint64_t id : ids_) {
    out_.next_segment_id = std::max(out_.next_segment_id, id + 1);
    const auto known = std::find_if(head.segments.begin(), head.segments.end(),
                                    [&](const CheckpointSegment& each) { return each.id == id; });
    if (known != head.segments.end()) {
      // One that came while the checkpoint was written is known to it, but its batches are later.
      const SegmentRef& segment = state_.segments()[known->slot];
      if (known->kind == SegmentKind::log && id > head.tail_segment_id &&
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
      problem(segment.error());
      out_.set_aside.push_back(id);
    } else {
      return segment.error();
    }
  }
  LogWalk log(head.sequence, std::max(known, head.needed_sequence), sequence_max_, false,
              [this](const SegmentRef& segment, const Batch& batch) { apply(segment, batch); });
  if (has_tail) return walk(log, segments, head.tail_offset, head.tail_chain);
  // It goes on at the beginning of the next one, if nothing had come behind the checkpoint.
  return walk(log, segments, kBlockSize, segments.empty() ? 0 : segments.front()->salt);
}

void Recovery::add_moved(const SegmentRef& segment) {
  for (std::uint64_t offset = kBlockSize; offset < segment->file_size;) {
    auto batch = find_batch(*segment->file, segment->file_size, offset, segment->salt);
    if (!batch) return problem(batch.error());
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
  for (const std::uint64_t id : ids_) {
    out_.next_segment_id = std::max(out_.next_segment_id, id + 1);
    auto segment = open(id);
    if (!segment && segment.error().code() == ErrorCode::not_found) continue;
    if (!segment && segment.error().code() != ErrorCode::corruption) return segment.error();
    if (!segment) {
      problem(segment.error());
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
  const std::uint64_t known = published(out_.log_id);
  LogWalk log(0, known, sequence_max_, true,
              [this](const SegmentRef& segment, const Batch& batch) { apply(segment, batch); });
  VARVE_TRY(walk(log, logs, kBlockSize, logs.empty() ? 0 : logs.front()->salt));
  out_.report.rebuilt_index = out_.sequence != 0;
  if (log.gap_count() != 0) {
    problem(
        corruption(fmt::format("{}: {} times batches that were durable cannot be read; what they "
                               "held is missing, or older than it should be",
                               files_.dir(), log.gap_count())));
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

  out_.sequence = log.sequence();
  out_.durable_sequence = log.durable_sequence();
  out_.active = log.last_segment() != nullptr ? log.last_segment() : last_known;
  out_.chain = log.last_segment() != nullptr ? log.chain() : start_chain;
  if (log.last_segment() == nullptr && last_known != nullptr) last_known->used_end = start_offset;
  out_.unsure_count = log.unsure_count();
  out_.unsure_offset = log.unsure_offset();
  out_.tail_batch_count = log.batch_count();
  out_.tail_size = log.size();
  // To a reader it is only a batch that is being written.
  out_.report.dropped_tail = log.dropped_tail() && !sequence_max_;
  // Written over in place, a batch that is the very same as a dropped one would bring back those
  // behind it.
  out_.dropped_in_active = log.dropped_tail();
  out_.needs_new_segment = log.dropped_behind() || log.dropped_tail();
  // Without a header, only a checkpoint would know what the next batches are.
  if (out_.active != nullptr && !check_header(*out_.active)) out_.needs_new_segment = true;
  const std::uint64_t wanted =
      sequence_max_ ? std::min(*sequence_max_, log.known_durable()) : log.known_durable();
  if (log.sequence() < wanted) {
    problem(corruption(fmt::format(
        "{}: batches {} to {} were durable and cannot be read; this is what was there before them",
        files_.dir(), log.sequence() + 1, wanted)));
    out_.active_is_damaged = true;
  }

  if (out_.active != nullptr) {
    const std::uint64_t durable_end =
        out_.unsure_count != 0 ? out_.unsure_offset : out_.active->used_end;
    out_.active_durable_size =
        std::min(std::max(durable_end, published_size(*out_.active)), out_.active->file_size);
    // After a power cut they may be durable for all we know, and promised: then nobody touches
    // them, not even with their own bytes.
    const bool is_same_boot =
        published_ && published_->boot_id != 0 && published_->boot_id == files_.vfs().boot_id();
    out_.unsure_in_place = is_same_boot && !out_.active_is_damaged &&
                           out_.active_durable_size >= out_.active->used_end;
  }

  // What has no batch: the next segment to be used, or nothing.
  for (const SegmentRef& segment : segments) {
    if (segment == out_.active || segment->first_sequence != 0) continue;
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
      VARVE_ASSIGN(const auto batch,
                   find_batch(*segment->file, segment->file_size, kBlockSize, segment->salt));
      if (batch) {
        out_.set_aside.push_back(segment->id);
        continue;
      }
    }
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

}  // namespace

Result<std::optional<Recovered>> recover_log(const SegmentFiles& files, LogState& state,
                                             const RecoveryOptions& options) {
  return Recovery(files, state, options).run();
}

}  // namespace varve::log
