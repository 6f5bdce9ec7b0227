// The bytes of a log of ticks: docs/formats/rgb_wal_v1.md. Keep the tables there in step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/compression.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve::journal {

inline constexpr std::size_t kSegmentHeaderSize = 64;
inline constexpr std::size_t kEntryHeaderSize = 16;
inline constexpr std::size_t kMarkSize = 48;
// Of one tick, before it is compressed and after.
inline constexpr std::uint32_t kPayloadSizeMax = 1u << 28;
// The smallest piece of a disk that a crash can spoil.
inline constexpr std::uint32_t kSectorSize = 512;
inline constexpr std::uint32_t kAlignmentMax = 4096;

// --- Segments ------------------------------------------------------------------------

// The last tick before a segment, and the segment that holds it.
struct Link {
  std::uint64_t segment_id = 0;
  std::uint64_t tick = 0;
  friend bool operator==(const Link&, const Link&) = default;
};

struct SegmentHeader {
  std::uint64_t segment_id = 0;
  std::uint64_t start_tick = 0;  // of its first entry
  CompressionId codec = CompressionId::none;
  std::uint32_t alignment = kSectorSize;
  std::optional<Link> previous = {};  // none for the first segment of a log
  // What followed `previous` was damaged when this one was begun: no history leads across.
  bool after_damage = false;
};

std::array<std::byte, kSegmentHeaderSize> encode_segment_header(const SegmentHeader& header);
// `unsupported` for a higher version or a codec nobody knows, else corruption.
Result<SegmentHeader> decode_segment_header(ByteView in);

// "0000000000000001.wal", and back.
std::string segment_name(std::uint64_t segment_id);
std::optional<std::uint64_t> parse_segment_name(std::string_view name);

// --- Entries -------------------------------------------------------------------------

// In place of a length: what follows up to the next boundary means nothing.
inline constexpr std::uint32_t kPadding = 0xFFFFFFFF;

struct EntryHeader {
  std::uint32_t payload_size = 0;  // as it is stored
  bool is_stored = false;          // as it is, not compressed
  // The first behind a sync that was begun. It lies on a boundary.
  bool begins_group = false;
  // When it was written, everything before it was durable.
  bool is_behind_durable = false;
  std::uint64_t tick = 0;
  std::uint32_t checksum = 0;
};

// The length with its flags, as it stands in the entry.
std::uint32_t length_field(const EntryHeader& header) noexcept;
void encode_entry_header(const EntryHeader& header, std::byte* to) noexcept;
// Whether it can be one is not asked, but that no payload is larger than allowed.
std::optional<EntryHeader> decode_entry_header(ByteView in) noexcept;
// Over length, tick, payload and the number of the segment.
std::uint32_t entry_checksum(const EntryHeader& header, ByteView payload,
                             std::uint64_t segment_id) noexcept;

constexpr std::uint64_t round_up(std::uint64_t offset, std::uint64_t alignment) noexcept {
  return (offset + alignment - 1) & ~(alignment - 1);
}
// Where an entry or padding behind `offset` begins: not where a length would not fit before the
// boundary, so that there is always room for the word that says padding.
constexpr std::uint64_t entry_position(std::uint64_t offset, std::uint64_t alignment) noexcept {
  const std::uint64_t boundary = round_up(offset, alignment);
  return boundary - offset < sizeof kPadding ? boundary : offset;
}

// --- The mark ------------------------------------------------------------------------

// What a log says of itself beside its segments. Replaced as a whole.
struct Mark {
  // Segments with lower numbers were given up, though their files may still be there.
  std::uint64_t oldest_segment_id = 0;
  // The last tick when the log was closed, and the segment that holds it.
  std::optional<Link> closed_at = {};
  friend bool operator==(const Mark&, const Mark&) = default;
};

std::array<std::byte, kMarkSize> encode_mark(const Mark& mark);
Result<Mark> decode_mark(ByteView in);

}  // namespace varve::journal
