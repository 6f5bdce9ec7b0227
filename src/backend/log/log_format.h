// The bytes of a log: docs/formats/varve_log_v1.md. Keep the field orders and that page in step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/log/index.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve::log {

// Every batch begins on a boundary of this size: no write touches a sector that holds
// something older.
inline constexpr std::size_t kBlockSize = 4096;
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kBatchHeaderSize = 64;
// In front of each value: its checksum.
inline constexpr std::size_t kValueHeaderSize = 8;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

// Offsets are kept in units of 16 bytes in 32 bits.
inline constexpr std::uint64_t kSegmentSizeMax = std::uint64_t{16} << 32;
// The directory's share of an erasure, without its key.
inline constexpr std::uint64_t kErasureSize = 3;

// --- Segments ------------------------------------------------------------------------

enum class SegmentKind : std::uint8_t {
  log = 0,    // batches in the order in which they were written
  moved = 1,  // records that were carried over from segments that were cleared
};

struct SegmentHeader {
  std::uint64_t log_id = 0;  // the same in all files of one log
  std::uint64_t segment_id = 0;
  // Goes into every checksum of the segment, so that what an earlier life of a recycled
  // file left behind is never taken for a batch.
  std::uint64_t salt = 0;
  SegmentKind kind = SegmentKind::log;
};

inline constexpr std::size_t kSegmentHeaderSize = 48;
// One block.
Bytes encode_segment_header(const SegmentHeader& header);
Result<SegmentHeader> decode_segment_header(ByteView block);

std::string segment_name(std::uint64_t segment_id);
std::optional<std::uint64_t> parse_segment_name(std::string_view name);

// --- Batches -------------------------------------------------------------------------

struct BatchHeader {
  // Log: counts batches, without a gap. Moved: that of the last batch that was durable when the
  // records were carried over.
  std::uint64_t sequence = 0;
  // The first batch this one stands for: its own number, or a lower one if it was written again.
  std::uint64_t first_sequence = 0;
  // Every batch up to this one was durable before this one was written.
  std::uint64_t durable_sequence = 0;
  // The checksum of the batch before it in the segment; the salt for the first. It keeps
  // a batch behind an abandoned one from following its successor.
  std::uint64_t chain = 0;
  std::uint32_t record_count = 0;
  std::uint32_t directory_size = 0;
  // It holds once more what batches held that may have been lost, and takes their place.
  bool again = false;
  // Header, directory and values, without the padding at the end.
  std::uint64_t size = 0;
  // Over the header and the directory, which has a checksum of every value.
  std::uint64_t checksum = 0;
};

struct DirectoryEntry {
  ByteView key;
  bool erases = false;
  std::uint64_t version = 0;  // the batch that first wrote it
  std::uint32_t value_size = 0;
  std::uint64_t checksum = 0;  // of the value; see value_checksum()
  // In the segment, of the value's header; a multiple of Location::kUnit. 0 for an erasure.
  std::uint64_t offset = 0;
};

// Of a value of `key` at `offset` in a segment with this salt. A value in the place of another does
// not pass, not even an older one of the same key.
std::uint64_t value_checksum(ByteView key, ByteView value, std::uint64_t salt,
                             std::uint64_t offset) noexcept;
inline constexpr std::size_t kValueStartSize = 16;
// The same of a value that begins with `start`, of kValueStartSize bytes or all it has, and of
// which xxh3() of the rest is known.
std::uint64_t value_checksum(ByteView key, ByteView start, std::uint64_t rest_hash,
                             std::uint64_t salt, std::uint64_t offset) noexcept;

// What a record takes in a segment, with its part of the directory.
constexpr std::uint64_t record_cost(std::size_t key_size, std::uint64_t value_size) noexcept {
  // Two sizes of some bytes and a checksum stand in the directory beside the key.
  constexpr std::uint64_t kEntrySize = 12;
  return round_up(kValueHeaderSize + value_size, Location::kUnit) + key_size + kEntrySize;
}

// The header at the beginning of `in`; nullopt if there is none. Sizes are checked against
// `room`, the bytes from there to the end of the file; the checksum is not.
std::optional<BatchHeader> decode_batch_header(ByteView in, std::uint64_t room) noexcept;
// `in` is header and directory. Whether they have their checksum.
bool has_good_head(const BatchHeader& header, ByteView in, std::uint64_t salt) noexcept;
// Keys are borrowed from `in`, which is header and directory and has passed has_good_head().
// Corruption if they make no sense all the same.
Result<std::vector<DirectoryEntry>> decode_directory(const BatchHeader& header, ByteView in,
                                                     std::uint64_t batch_offset);

// --- What the writer publishes -------------------------------------------------------

// Written without a sync after each sync of the log, into two places in turn.
struct ControlRecord {
  std::uint64_t log_id = 0;
  std::uint64_t counter = 0;  // the higher one of the two counts
  // Every batch up to this one is durable. True whenever it can be read, since it is written later.
  std::uint64_t durable_sequence = 0;
  // What died up to this batch may have been reclaimed, unless a reader held it before.
  std::uint64_t horizon = 0;
  // The log was closed in good order, and `durable_sequence` is its last batch.
  bool clean = false;
  // The segment that is written to, and how long its file was when that was last made durable: a
  // batch that ends before that changes nothing about the file but its bytes.
  std::uint64_t active_segment_id = 0;
  std::uint64_t active_size = 0;
  // Of the machine that wrote it, as Vfs::boot_id() says: as long as it is the same, this is the
  // newest record there was.
  std::uint64_t boot_id = 0;
};
inline constexpr std::size_t kControlRecordSize = 72;
Bytes encode_control(const ControlRecord& record);
Result<ControlRecord> decode_control(ByteView in);

// --- Pins of readers -----------------------------------------------------------------

struct PinRecord {
  std::uint64_t sequence =
      0;  // what the reader shows; it needs everything that lived then or later
  std::uint64_t generation = 0;  // of the checkpoint it started from
};
inline constexpr std::size_t kPinRecordSize = 64;
inline constexpr std::uint32_t kPinSlotCount = 64;
Bytes encode_pin(const PinRecord& record);
// nullopt if it is being written, or never was.
std::optional<PinRecord> decode_pin(ByteView in);

// --- Checkpoints ---------------------------------------------------------------------

struct CheckpointSegment {
  std::uint64_t id = 0;
  std::uint64_t salt = 0;
  SegmentKind kind = SegmentKind::log;
  std::uint16_t slot = 0;
  std::uint64_t used_end = 0;        // behind its last batch
  std::uint64_t first_sequence = 0;  // of its first batch
  std::uint64_t punched_size = 0;
  std::uint64_t erasure_size = 0;  // of erasures in it
};

struct CheckpointHead {
  std::uint64_t log_id = 0;
  std::uint64_t generation = 0;
  // The image holds every batch up to this one; later ones are read from the log ...
  std::uint64_t sequence = 0;
  // ... which must reach at least this one, since the image may hold parts of it.
  std::uint64_t needed_sequence = 0;
  // Where the first later one begins, and what it is chained to.
  std::uint64_t tail_segment_id = 0;
  std::uint64_t tail_offset = 0;
  std::uint64_t tail_chain = 0;
  // Segments with this number or a higher one came later.
  std::uint64_t next_segment_id = 0;
  std::uint64_t head_size = 0;  // the image begins there; a multiple of kBlockSize
  std::uint64_t image_size = 0;
  std::uint64_t image_checksum = 0;  // see image_checksum()
  std::vector<CheckpointSegment> segments = {};
};
inline constexpr std::size_t kImagePieceSize = std::size_t{1} << 20;
// Checksums of the image's pieces of kImagePieceSize bytes, each the seed of the next.
std::uint64_t image_checksum(ByteView image) noexcept;
// With zeros up to `head_size`; larger than that if it does not fit.
Bytes encode_checkpoint_head(const CheckpointHead& head);
// Whether a file of this size that starts so may be one.
inline constexpr std::size_t kCheckpointStartSize = 104;
Status check_checkpoint_start(ByteView start, std::uint64_t file_size);
// `file` is all of it.
Result<CheckpointHead> decode_checkpoint_head(ByteView file);

}  // namespace varve::log
