// Entries that are not durable yet, encoded: what a failed sync may lose is written again from
// here.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_writer.h"
#include "journal/wal_format.h"
#include "journal/wal_walk.h"

namespace varve::journal {

class PendingEntries {
 public:
  struct Entry {
    EntryHeader header;
    std::size_t position = 0;  // in the bytes
    std::size_t size() const noexcept { return kEntryHeaderSize + header.payload_size; }
  };

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t count() const noexcept { return entries_.size(); }
  std::size_t size() const noexcept { return bytes_.size(); }
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  std::uint64_t last_tick() const noexcept { return entries_.back().header.tick; }

  // `header` says the tick and the group; the rest comes from the payload. Compressed if that makes
  // it smaller, and `tries` allows to find out.
  void add(EntryHeader header, ByteView payload, const Compression& compression, bool tries);
  // The same with a payload that is as `header.is_stored` says.
  void add_encoded(const EntryHeader& header, ByteView payload);
  void drop_last();
  void clear() noexcept;

  // The bytes of the last entry for this segment, and behind them so much padding. Valid until
  // anything changes.
  ByteView seal_last(std::uint64_t segment_id, std::size_t padding_size);
  // All entries behind each other as a segment has them: `out` is its beginning. Notes where.
  void append_to(ByteWriter& out, std::uint64_t segment_id, std::uint64_t alignment,
                 TickIndex& index) const;

 private:
  // Where the payload goes, and what is known when it is there.
  std::size_t begin_entry();
  void end_entry(const EntryHeader& header, std::size_t start);
  ByteView payload(const Entry& entry) const {
    return bytes_.view().subspan(entry.position + kEntryHeaderSize, entry.header.payload_size);
  }

  ByteWriter bytes_;
  std::vector<Entry> entries_;
};

// Padding up to the next boundary.
void append_padding(ByteWriter& out, std::uint64_t alignment);

}  // namespace varve::journal
