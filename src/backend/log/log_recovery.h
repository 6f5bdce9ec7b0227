// Finds out what a log holds: from its checkpoint and what was written since, or, where there is no
// checkpoint that can be trusted, from the segments alone. Changes nothing on the disk.
//
// Invariants:
// 1. What is taken in are whole batches, in order and without a gap up to the last one.
// 2. Every batch up to `durable_sequence` survives any crash as it lies. Later ones were read, but
//    may be in the page cache alone, even if a sync would say otherwise: a writer writes them
//    again, elsewhere, before anybody sees them.
// 3. A batch that was durable and cannot be read is a problem in the report, and ends the log like
//    a torn one: what is shown is what was there before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/log/log_state.h"
#include "backend/log/segment_files.h"
#include "varve/backend.h"

namespace varve::log {

struct RecoveryOptions {
  bool writes = true;
  // A writer may be at work: nothing is shown that may be in flight.
  bool beside_writer = false;
};

struct Recovered {
  std::uint64_t log_id = 0;
  std::uint64_t generation = 0;  // of the checkpoint; 0 if there is none
  // The highest anybody may know.
  std::uint64_t known_generation = 0;
  std::uint64_t sequence = 0;  // of the last batch
  std::uint64_t durable_sequence = 0;
  // The log segment that ends with the last batch, and the checksum of that.
  SegmentRef active;
  std::uint64_t chain = 0;
  // Where in it the first batch begins that may be lost; its end if there is none.
  std::uint64_t unsure_offset = 0;
  std::uint64_t unsure_count = 0;
  bool unsure_erases = false;
  // They lie where the file was durable before them, so that their bytes are all that may be lost.
  bool unsure_in_place = false;
  std::uint64_t active_durable_size = 0;
  // It must not be gone on in: behind its end lies what somebody may want to look at.
  bool active_is_damaged = false;
  // Nor may it if batches were dropped behind it: see LogWalk.
  bool needs_new_segment = false;
  bool dropped_in_active = false;
  // A log segment without batches, behind the others. Its name need not be durable.
  SegmentRef spare;
  std::uint64_t next_segment_id = 1;
  // Segments nothing refers to. The checkpoint before this one might, and be found after a crash if
  // this one is not durable.
  std::vector<std::uint64_t> leftovers;
  // Segments behind damage: they are out of order, but may be all that is left of something.
  std::vector<std::uint64_t> set_aside;
  // Since the checkpoint.
  std::uint64_t tail_batch_count = 0;
  std::uint64_t tail_size = 0;
  // A writer began meanwhile, and it must be read once more.
  bool is_overtaken = false;
  // Entries were found to be lost, and nobody has noted that yet.
  bool lost_now = false;
  BackendReport report;
};

// Fills `state`, which nobody else knows yet. nullopt if there is no log in the folder, or one
// whose creation was cut short; `state` is empty then.
Result<std::optional<Recovered>> recover_log(const SegmentFiles& files, LogState& state,
                                             const RecoveryOptions& options);

}  // namespace varve::log
