#include "backend/log/checkpointer.h"

#include <algorithm>
#include <mutex>

#include "backend/log/checkpoint.h"
#include "base/try.h"

namespace varve::log {
namespace {

// What is taken from the index under one lock: commits wait no longer than that takes.
constexpr std::size_t kPieceSize = std::size_t{256} << 10;
// Segments that may come while a checkpoint is written. If it is more, the next one tries again.
constexpr std::size_t kSpareSegmentCount = 256;

}  // namespace

bool Checkpointer::is_due() const {
  const LogWriter::Written written = writer_.written_since_checkpoint();
  if (!has_checkpoint_) return true;
  if (written.batch_count == 0) return false;
  std::uint64_t entry_count = 0;
  {
    const std::shared_lock lock(state_.mutex());
    entry_count = state_.index().count();
  }
  // Reading a batch again costs about as much as loading some hundreds of entries, and is to take
  // no longer than those do.
  if (written.batch_count >= options_.checkpoint_batch_count_min + entry_count / 400) return true;
  // Checkpoints are to be a tenth of what is written.
  return written.size >= std::max(options_.checkpoint_size_min, 10 * size_);
}

void Checkpointer::stamp_cleared(std::uint64_t generation) {
  const std::uint64_t durable = writer_.durable_sequence();
  const std::unique_lock lock(state_.mutex());
  std::vector<SegmentRef> lost;
  state_.for_each_segment([&](const SegmentRef& segment) {
    if (!segment->sealed || segment->live_count != 0) return;
    if (segment->file == nullptr) return lost.push_back(segment);
    if (segment->damaged || !state_.is_followed(*segment, durable)) return;
    if (segment->erasure_size == 0) segment->cleared = true;
    if (segment->cleared && segment->free_generation == 0) segment->free_generation = generation;
  });
  for (const SegmentRef& segment : lost) state_.remove(*segment);
}

CheckpointHead Checkpointer::head_of(const LogWriter::Tail& tail, std::uint64_t generation) const {
  CheckpointHead head{.log_id = files_.log_id(),
                      .generation = generation,
                      .sequence = tail.sequence,
                      .needed_sequence = 0,
                      .tail_segment_id = tail.segment_id,
                      .tail_offset = tail.offset,
                      .tail_chain = tail.chain,
                      .next_segment_id = files_.next_segment_id(),
                      .segments = {}};
  const std::shared_lock lock(state_.mutex());
  state_.for_each_segment([&](const SegmentRef& segment) {
    // Those that are about to go: nothing in this checkpoint refers to them.
    if (segment->free_generation != 0) return;
    CheckpointSegment known{.id = segment->id,
                            .salt = segment->salt,
                            .kind = segment->kind,
                            .slot = segment->slot,
                            .used_end = std::min(segment->used_end, segment->durable_end_max),
                            .first_sequence = segment->first_sequence,
                            .punched_size = segment->punched_size,
                            .erasure_size = segment->erasure_size};
    // What came behind the tail is read from the log, and may not be durable yet.
    if (known.id == tail.segment_id) known.used_end = tail.offset;
    if (known.kind == SegmentKind::log && known.id > tail.segment_id) {
      known.used_end = kBlockSize;
      known.first_sequence = known.erasure_size = 0;
    }
    head.segments.push_back(known);
  });
  return head;
}

Status Checkpointer::write() {
  const LogWriter::Written covered = writer_.written_since_checkpoint();
  const std::uint64_t generation = ++tried_generation_;
  // Before the tail is fixed: what is stamped then lies before it.
  stamp_cleared(generation);
  VARVE_ASSIGN(const LogWriter::Tail tail, writer_.durable_tail());
  state_.ensure_order();
  std::size_t segment_count = 0;
  {
    const std::shared_lock lock(state_.mutex());
    segment_count = state_.segments().size();
  }
  VARVE_ASSIGN(CheckpointFile file,
               CheckpointFile::create(files_, segment_count + kSpareSegmentCount));
  ByteWriter piece;
  for (std::optional<std::string> from = std::string(); from;) {
    piece.clear();
    {
      const std::shared_lock lock(state_.mutex());
      from = state_.index().append_image(as_byte_view(*from), kPieceSize, piece);
    }
    VARVE_ASSIGN(const bool has_written, file.append(piece.view()));
    if (has_written && pause_) pause_();
  }
  // What the image holds of later batches must be there when it is read.
  VARVE_ASSIGN(const LogWriter::Tail reached, writer_.durable_tail());
  CheckpointHead head = head_of(tail, generation);
  head.needed_sequence = reached.sequence;
  VARVE_TRY(file.finish(std::move(head)));
  durable_generation_ = generation;
  has_checkpoint_ = true;
  has_written_ = true;
  size_ = file.size();
  writer_.note_checkpoint(covered);
  return {};
}

}  // namespace varve::log
