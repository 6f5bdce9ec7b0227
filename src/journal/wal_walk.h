// Goes through the entries of a segment. Every byte may be hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/file.h"
#include "journal/wal_format.h"

namespace varve::journal {

// A part of a file in memory, read a piece at a time.
inline constexpr std::size_t kWindowSize = 64 << 10;
class FileWindow {
 public:
  // `limit` is where the file counts as ended; `piece_size` is read at a time.
  FileWindow(const File& file, std::uint64_t limit, std::size_t piece_size = kWindowSize)
      : file_(file), limit_(limit), piece_size_(piece_size) {}

  std::uint64_t limit() const noexcept { return limit_; }
  // The bytes at `offset`, fewer if the file ends before. Valid until the next call. Nothing is
  // allocated for what lies behind the end.
  Result<ByteView> view(std::uint64_t offset, std::size_t size);

 private:
  const File& file_;
  std::uint64_t limit_;
  std::size_t piece_size_;
  std::uint64_t offset_ = 0;
  Buffer bytes_;
};

struct WalEntry {
  EntryHeader header;
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  ByteView payload;  // as it is stored; until the walk goes on
};

// Where a segment's entries begin, at the latest at every so many bytes.
struct IndexPoint {
  std::uint64_t tick = 0;
  std::uint64_t offset = 0;
};
using TickIndex = std::vector<IndexPoint>;
// About what one read brings: a tick is found with one.
inline constexpr std::uint64_t kIndexStep = 16 << 10;
// Notes an entry if the last one that was noted lies far enough before.
void note_in_index(TickIndex& index, std::uint64_t tick, std::uint64_t offset);

class EntryWalk {
 public:
  EntryWalk(const File& file, const SegmentHeader& header, std::uint64_t limit,
            std::uint64_t offset = kSegmentHeaderSize, std::size_t piece_size = kWindowSize)
      : window_(file, limit, piece_size), header_(header), offset_(offset) {}

  // The next entry that is whole, with a tick above all before it; nullopt where there is none:
  // at_offset() is where one would be.
  Result<std::optional<WalEntry>> next();
  // The same by the headers alone, without looking at payloads.
  Result<std::optional<WalEntry>> next_header();

  // Goes by headers to this tick's entry; nullopt if they do not lead to one that is whole,
  // whatever the reason.
  Result<std::optional<WalEntry>> find(std::uint64_t tick);

  std::uint64_t at_offset() const noexcept { return offset_; }
  const std::optional<std::uint64_t>& last_tick() const noexcept { return last_tick_; }

 private:
  // Entries of ticks before `checks_from` are not looked at but for their headers.
  Result<std::optional<WalEntry>> next(std::uint64_t checks_from);
  Status skip_padding();

  FileWindow window_;
  const SegmentHeader& header_;
  std::uint64_t offset_;
  std::optional<std::uint64_t> last_tick_;
};

// The last segment of a log, as it was left.
struct TailScan {
  std::uint64_t end = kSegmentHeaderSize;  // of the last entry that is whole
  std::optional<std::uint64_t> last_tick;
  // Entries from here on may not be durable, though they can be read.
  std::uint64_t unsure_offset = kSegmentHeaderSize;
  std::optional<std::uint64_t> durable_tick;
  TickIndex index;
  // What lies behind the end was written but is not whole: a crash did that ...
  bool is_torn = false;
  // ... or cannot have, since something that follows was written when it was durable.
  bool is_damaged = false;
};

// Checks every entry. Those above `tick_max` do not count.
Result<TailScan> scan_tail(const File& file, const SegmentHeader& header, std::uint64_t file_size,
                           std::optional<std::uint64_t> tick_max);

// An index of a segment up to `last_tick`. It ends where headers make no sense: who reads there
// finds out what is wrong.
Result<TickIndex> index_by_headers(const File& file, const SegmentHeader& header,
                                   std::uint64_t file_size, std::uint64_t last_tick);

}  // namespace varve::journal
