#include "backend/log/log_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/log/log_format.h"
#include "backend/log/small_log.h"

namespace varve::test {
namespace {

bool is_segment(const sim::Place& place) { return log::parse_segment_name(place.name).has_value(); }

// Only a hole is written as whole blocks of zeros; growth is a change of size.
bool is_hole(ByteView data) {
  return data.size() % log::kBlockSize == 0 &&
         std::all_of(data.begin(), data.end(), [](std::byte b) { return b == std::byte{0}; });
}

void count_write(const sim::DiskOp& op, LogEvents& events) {
  if (op.data.empty() || op.failed) return;
  if (is_hole(op.data)) ++events.hole_count;
  if (op.offset == 0) {
    const auto header = log::decode_segment_header(op.data);
    if (header && header->kind == log::SegmentKind::moved) ++events.moved_segment_count;
    return;
  }
  const auto batch = log::decode_batch_header(op.data, op.data.size());
  if (!batch) return;
  ++events.batch_count;
  if (batch->again) ++events.again_count;
  if (batch->size > small_log_options().prepared_size_max) ++events.large_batch_count;
}

}  // namespace

LogEvents count_events(const sim::OpLog& log) {
  LogEvents events;
  for (const sim::DiskOp& op : log) {
    switch (op.kind) {
      case sim::OpKind::write:
        count_write(op, events);
        break;
      case sim::OpKind::rename:
        if (is_segment(op.place2)) ++events.segment_count;
        if (is_segment(op.place)) ++events.recycled_count;
        if (op.place2.name == "checkpoint") ++events.checkpoint_count;
        break;
      case sim::OpKind::remove:
        if (is_segment(op.place)) ++events.removed_count;
        break;
      default:
        break;
    }
  }
  return events;
}

LogEvents& LogEvents::operator+=(const LogEvents& more) {
  for (const auto count :
       {&LogEvents::segment_count, &LogEvents::moved_segment_count, &LogEvents::recycled_count,
        &LogEvents::removed_count, &LogEvents::checkpoint_count, &LogEvents::hole_count,
        &LogEvents::batch_count, &LogEvents::again_count, &LogEvents::large_batch_count}) {
    this->*count += more.*count;
  }
  return *this;
}

std::string LogEvents::summary() const {
  return fmt::format(
      "{} segments ({} moved, {} recycled, {} removed), {} checkpoints, {} holes, {} batches "
      "({} again, {} large)",
      segment_count, moved_segment_count, recycled_count, removed_count, checkpoint_count,
      hole_count, batch_count, again_count, large_batch_count);
}

}  // namespace varve::test
