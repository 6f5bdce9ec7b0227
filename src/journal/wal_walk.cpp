#include "journal/wal_walk.h"

#include <algorithm>

#include "base/endian.h"
#include "base/try.h"

namespace varve::journal {
namespace {

// Remembers what entries say of the durability of those before them.
class GroupWatch {
 public:
  void see(const WalEntry& entry, const std::optional<std::uint64_t>& tick_before) {
    if (!entry.header.begins_group) return;
    const Before here{entry.offset, tick_before};
    // A sync begins when the one before is through: the group before the last one is durable.
    if (entry.header.is_behind_durable) {
      durable_ = here;
    } else if (group_.offset > durable_.offset) {
      durable_ = group_;
    }
    group_ = here;
  }
  std::uint64_t unsure_offset() const { return durable_.offset; }
  const std::optional<std::uint64_t>& durable_tick() const { return durable_.tick; }

 private:
  struct Before {
    std::uint64_t offset = kSegmentHeaderSize;
    std::optional<std::uint64_t> tick;
  };
  Before group_;
  Before durable_;
};

// Whether what is bad at `offset` was durable once: an entry behind it says so.
Result<bool> was_durable(const File& file, const SegmentHeader& header, std::uint64_t file_size,
                         std::uint64_t offset, std::optional<std::uint64_t> last_tick) {
  FileWindow window(file, file_size);
  // Honest groups do not overlap, so that this much is never needed. Hostile ones could keep us
  // here for ever; a file full of them is no torn tail.
  std::uint64_t budget = 2 * file_size + kPayloadSizeMax;
  int weak_count = 0;
  std::uint64_t at = round_up(offset + 1, header.alignment);
  while (at + kEntryHeaderSize <= file_size) {
    VARVE_ASSIGN(ByteView bytes, window.view(at, kEntryHeaderSize));
    const auto entry = decode_entry_header(bytes);
    const std::uint64_t here = at;
    at += header.alignment;
    if (!entry || !entry->begins_group || (last_tick && entry->tick <= *last_tick)) continue;
    const std::uint64_t size = kEntryHeaderSize + std::uint64_t{entry->payload_size};
    if (size > file_size - here) continue;
    if (size > budget) return true;
    budget -= size;
    VARVE_ASSIGN(bytes, window.view(here, static_cast<std::size_t>(size)));
    if (bytes.size() < size) continue;
    if (entry_checksum(*entry, bytes.subspan(kEntryHeaderSize), header.segment_id) !=
        entry->checksum) {
      continue;
    }
    // The first group behind may have been written while the sync of the bad one was under way.
    if (entry->is_behind_durable || ++weak_count == 2) return true;
    at = round_up(here + size, header.alignment);
  }
  return false;
}

// Whether an entry was begun there. What an earlier life of a recycled file left has lower ticks.
Result<bool> is_torn_at(const File& file, std::uint64_t file_size, std::uint64_t offset,
                        std::uint64_t tick_before) {
  FileWindow window(file, file_size);
  VARVE_ASSIGN(const ByteView bytes, window.view(offset, kEntryHeaderSize));
  const bool is_blank =
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  if (is_blank) return false;
  if (bytes.size() < kEntryHeaderSize) return true;
  return load_le<std::uint64_t>(bytes.data() + 4) > tick_before;
}

}  // namespace

Result<ByteView> FileWindow::view(std::uint64_t offset, std::size_t size) {
  const std::uint64_t left = offset < limit_ ? limit_ - offset : 0;
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, left));
  if (offset < offset_ || offset + size > offset_ + bytes_.size()) {
    const std::uint64_t read_size =
        std::min<std::uint64_t>(std::max<std::uint64_t>(size, piece_size_), left);
    bytes_.resize(static_cast<std::size_t>(read_size));
    offset_ = offset;
    VARVE_ASSIGN(const std::size_t got, file_.read_at(offset, bytes_.span()));
    bytes_.resize(got);
    size = std::min(size, got);
  }
  return bytes_.view().subspan(static_cast<std::size_t>(offset - offset_), size);
}

void note_in_index(TickIndex& index, std::uint64_t tick, std::uint64_t offset) {
  if (!index.empty() && offset < index.back().offset + kIndexStep) return;
  index.push_back({tick, offset});
}

Status EntryWalk::skip_padding() {
  for (;;) {
    offset_ = entry_position(offset_, header_.alignment);
    VARVE_ASSIGN(const ByteView word, window_.view(offset_, sizeof kPadding));
    if (word.size() < sizeof kPadding || load_le<std::uint32_t>(word.data()) != kPadding) return {};
    offset_ = round_up(offset_ + sizeof kPadding, header_.alignment);
  }
}

Result<std::optional<WalEntry>> EntryWalk::next(std::uint64_t checks_from) {
  VARVE_TRY(skip_padding());
  VARVE_ASSIGN(ByteView bytes, window_.view(offset_, kEntryHeaderSize));
  const auto header = decode_entry_header(bytes);
  if (!header || header->tick < header_.start_tick) return std::nullopt;
  if (last_tick_ && header->tick <= *last_tick_) return std::nullopt;
  // Before anything is allocated for it.
  if (header->payload_size > window_.limit() - offset_ - kEntryHeaderSize) return std::nullopt;
  const std::size_t size = kEntryHeaderSize + header->payload_size;
  WalEntry entry{.header = *header, .offset = offset_, .end = offset_ + size, .payload = {}};
  if (header->tick >= checks_from) {
    VARVE_ASSIGN(bytes, window_.view(offset_, size));
    if (bytes.size() < size) return std::nullopt;
    entry.payload = bytes.subspan(kEntryHeaderSize);
    if (entry_checksum(*header, entry.payload, header_.segment_id) != header->checksum) {
      return std::nullopt;
    }
  }
  offset_ = entry.end;
  last_tick_ = header->tick;
  return entry;
}

Result<std::optional<WalEntry>> EntryWalk::next() { return next(0); }
Result<std::optional<WalEntry>> EntryWalk::next_header() { return next(~std::uint64_t{0}); }

Result<std::optional<WalEntry>> EntryWalk::find(std::uint64_t tick) {
  for (;;) {
    VARVE_ASSIGN(auto entry, next(tick));
    if (!entry || entry->header.tick > tick) return std::nullopt;
    if (entry->header.tick == tick) return entry;
  }
}

Result<TailScan> scan_tail(const File& file, const SegmentHeader& header, std::uint64_t file_size,
                           std::optional<std::uint64_t> tick_max) {
  TailScan scan;
  EntryWalk walk(file, header, file_size);
  GroupWatch groups;
  for (;;) {
    VARVE_ASSIGN(const auto entry, walk.next());
    if (!entry) break;
    // What a failed append left in a log that was closed: nobody was given it.
    if (tick_max && entry->header.tick > *tick_max) return scan;
    groups.see(*entry, scan.last_tick);
    note_in_index(scan.index, entry->header.tick, entry->offset);
    scan.end = entry->end;
    scan.last_tick = entry->header.tick;
    scan.unsure_offset = groups.unsure_offset();
    scan.durable_tick = groups.durable_tick();
  }
  if (tick_max && scan.last_tick == tick_max) return scan;
  VARVE_ASSIGN(scan.is_damaged,
               was_durable(file, header, file_size, walk.at_offset(), scan.last_tick));
  // A segment is given its name when its first entry is durable.
  if (!scan.last_tick) scan.is_damaged = true;
  const std::uint64_t tick_before = scan.last_tick.value_or(header.start_tick);
  VARVE_ASSIGN(scan.is_torn, is_torn_at(file, file_size, walk.at_offset(), tick_before));
  return scan;
}

Result<TickIndex> index_by_headers(const File& file, const SegmentHeader& header,
                                   std::uint64_t file_size, std::uint64_t last_tick) {
  TickIndex index;
  EntryWalk walk(file, header, file_size);
  for (;;) {
    VARVE_ASSIGN(const auto entry, walk.next_header());
    if (!entry || entry->header.tick > last_tick) return index;
    note_in_index(index, entry->header.tick, entry->offset);
  }
}

}  // namespace varve::journal
