// One file of a log that is open.
//
// Whoever reads from it holds a reference, and so do the bytes that were handed out without a copy:
// a segment nobody else refers to can be punched and recycled, any other is only unlinked.
#pragma once

#include <atomic>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/log/log_format.h"
#include "io/vfs.h"

namespace varve::log {

struct Segment {
  Segment(std::unique_ptr<File> opened, const SegmentHeader& header)
      : file(std::move(opened)),
        log_id(header.log_id),
        id(header.segment_id),
        salt(header.salt),
        kind(header.kind) {}

  // Null if it is lost; then its place is kept for what the index still has of it.
  const std::unique_ptr<File> file;
  const std::uint64_t log_id;
  const std::uint64_t id;
  const std::uint64_t salt;
  const SegmentKind kind;

  // --- Guarded by the mutex of the LogState the segment is in.

  std::uint16_t slot = 0;
  std::uint64_t used_end = kBlockSize;  // behind its last batch
  // What lies behind was written again elsewhere and may go with a crash: to a checkpoint the
  // segment ends here at the latest.
  std::uint64_t durable_end_max = ~std::uint64_t{0};
  std::uint64_t file_size = 0;
  std::uint64_t punched_size = 0;
  // What the records that live in it take: record_cost().
  std::uint64_t live_size = 0;
  std::uint64_t live_count = 0;
  std::uint64_t erasure_size = 0;
  std::uint64_t first_sequence = 0;  // of its first batch; 0 if it has none
  // The last batch that overwrote or erased something in it.
  std::uint64_t last_death = 0;
  // It takes no more batches.
  bool sealed = false;
  // Its directory could not be read, so it is left as it is.
  bool damaged = false;
  // Records were carried elsewhere. Until a checkpoint knows, a crash looks for them here, so that
  // no holes are punched.
  bool moved_from = false;
  // Everything that lived in it is elsewhere. It goes once a checkpoint that began later is
  // durable: that one's number, 0 before there is one.
  bool cleared = false;
  std::uint64_t free_generation = 0;
  // Dead bytes when holes were last punched; looking again pays only when there are more.
  std::uint64_t punched_at_dead_size = 0;
  // Upkeep's own: which blocks are holes, as far as is known since the log was opened.
  std::vector<bool> punched_blocks;

  // What it occupies on the disk.
  std::uint64_t allocated_size() const noexcept {
    return file_size > punched_size ? file_size - punched_size : 0;
  }
  std::uint64_t dead_size() const noexcept {
    const std::uint64_t kept = live_size + erasure_size + punched_size;
    return used_end > kept ? used_end - kept : 0;
  }

  // --- Any thread.

  // The file in memory, at least up to `end`, or null where it cannot be mapped or where that does
  // not pay yet. No more than `used_end` is mapped: what lies behind may be cut off. So a segment
  // that still takes batches is mapped again as it grows, in steps that keep the maps few.
  const std::byte* map(std::uint64_t end, std::uint64_t used_end, bool may_grow);

 private:
  std::mutex map_mutex_;
  // The last of `maps_`. All of them stay: bytes that were handed out point into them.
  std::atomic<const Bytes*> mapped_ = nullptr;
  std::forward_list<Bytes> maps_;
  bool map_failed_ = false;
};

// A value in its segment, which cannot go away while this exists.
using SegmentRef = std::shared_ptr<Segment>;

// Opens a segment and reads its header. `path` must name the segment its header names.
Result<SegmentRef> open_segment(Vfs& vfs, const std::string& path, OpenMode mode,
                                std::uint64_t expected_id);

// One whose header and size are known: its file is opened when it is used. What is read from it has
// checksums in which its salt is.
Result<SegmentRef> open_known_segment(Vfs& vfs, const std::string& path, OpenMode mode,
                                      const SegmentHeader& header, std::uint64_t file_size);

// Whether its file has the header it should.
Status check_header(const Segment& segment);

}  // namespace varve::log
