#include "journal/wal_pending.h"

#include <algorithm>

#include "base/endian.h"

namespace varve::journal {
namespace {

// More than this is given back when it is not needed: a single large tick should not cost its size
// for ever.
constexpr std::size_t kKeptSizeMax = 16 << 20;

void pad(ByteWriter& out, std::size_t size) {
  if (size == 0) return;
  const auto padding = out.extend(size);
  std::fill(padding.begin(), padding.end(), std::byte{0});
  if (size >= sizeof kPadding) store_le<std::uint32_t>(padding.data(), kPadding);
}

void put_entry(ByteWriter& out, EntryHeader header, ByteView payload, std::uint64_t segment_id) {
  header.checksum = entry_checksum(header, payload, segment_id);
  encode_entry_header(header, out.extend(kEntryHeaderSize).data());
  out.bytes(payload);
}

}  // namespace

void PendingEntries::add(EntryHeader header, ByteView payload, const Compression& compression,
                         bool tries) {
  const std::size_t start = begin_entry();
  header.is_stored =
      !tries || !compression.compress(payload, bytes_) || bytes_.size() - start >= payload.size();
  if (header.is_stored) {
    bytes_.truncate(start);
    bytes_.bytes(payload);
  }
  end_entry(header, start);
}

void PendingEntries::add_encoded(const EntryHeader& header, ByteView payload) {
  const std::size_t start = begin_entry();
  bytes_.bytes(payload);
  end_entry(header, start);
}

std::size_t PendingEntries::begin_entry() {
  // Padding that was behind the last one is of its place in a file, not of its bytes.
  if (!entries_.empty()) bytes_.truncate(entries_.back().position + entries_.back().size());
  bytes_.extend(kEntryHeaderSize);
  return bytes_.size();
}

void PendingEntries::end_entry(const EntryHeader& header, std::size_t start) {
  entries_.push_back({.header = header, .position = start - kEntryHeaderSize});
  entries_.back().header.payload_size = static_cast<std::uint32_t>(bytes_.size() - start);
}

void PendingEntries::drop_last() {
  bytes_.truncate(entries_.back().position);
  entries_.pop_back();
}

void PendingEntries::clear() noexcept {
  entries_.clear();
  if (bytes_.size() > kKeptSizeMax) {
    bytes_ = ByteWriter();
  } else {
    bytes_.clear();
  }
}

ByteView PendingEntries::seal_last(std::uint64_t segment_id, std::size_t padding_size) {
  Entry& entry = entries_.back();
  entry.header.checksum = entry_checksum(entry.header, payload(entry), segment_id);
  bytes_.patch_u32_le(entry.position, length_field(entry.header));
  bytes_.patch_u64_le(entry.position + 4, entry.header.tick);
  bytes_.patch_u32_le(entry.position + 12, entry.header.checksum);
  pad(bytes_, padding_size);
  return bytes_.view().subspan(entry.position);
}

void PendingEntries::append_to(ByteWriter& out, std::uint64_t segment_id, std::uint64_t alignment,
                               TickIndex& index) const {
  for (const Entry& entry : entries_) {
    out.zeros(static_cast<std::size_t>(entry_position(out.size(), alignment) - out.size()));
    EntryHeader header = entry.header;
    // The first of a segment begins its only group; all that comes with it is durable when it is.
    header.begins_group = header.is_behind_durable = out.size() == alignment;
    note_in_index(index, header.tick, out.size());
    put_entry(out, header, payload(entry), segment_id);
  }
}

void append_padding(ByteWriter& out, std::uint64_t alignment) {
  pad(out, static_cast<std::size_t>(round_up(out.size(), alignment) - out.size()));
}

}  // namespace varve::journal
