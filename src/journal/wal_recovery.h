// Finds out what a log holds, and what of it can be relied on. Changes nothing.
//
// The last segment is the one with the highest number. Each names the one before it and the tick at
// which that one ends; a segment nobody names is a leftover. So a log is one chain, whatever
// names a crash brings back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "journal/tick_log.h"
#include "journal/wal_segments.h"

namespace varve::journal {

struct UnsureEntry {
  std::uint64_t tick = 0;
  bool is_stored = false;  // as it is, not compressed
  Bytes payload;           // as it lies in its segment
};

struct Recovered {
  std::vector<SegmentRef> segments;  // rising
  std::optional<std::uint64_t> durable_tick;
  Mark mark;
  TickLogReport report;
  std::uint64_t next_segment_id = 1;
  std::vector<std::uint64_t> leftover_ids;  // of segments that are not part of it
  // The last durable entry and who holds it: what the next segment follows.
  std::optional<Link> durable_at;
  // Read behind it. Perhaps only memory shows them: a sync of them may have failed before the last
  // writer ended. For a writer alone.
  std::vector<UnsureEntry> unsure;
  CompressionId unsure_codec = CompressionId::none;
  // The end is damaged: what is written next does not follow from what was there.
  bool is_end_damaged = false;
};

Result<Recovered> recover_wal(const WalFiles& files, bool writes);

}  // namespace varve::journal
