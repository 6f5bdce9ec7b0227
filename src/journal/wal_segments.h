// The segments of an open log, as its readers see them.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "journal/tick_log.h"
#include "journal/wal_files.h"
#include "journal/wal_walk.h"

namespace varve::journal {

// What is not const is guarded by the SegmentList.
struct Segment {
  SegmentHeader header;  // never changed
  std::string path;      // never changed
  // Entries up to this one count; those behind it were given up, or are in the next one.
  std::uint64_t last_tick = 0;
  // Where the file's entries end. Of a segment that is not the last: where the file does.
  std::uint64_t end = kSegmentHeaderSize;
  std::uint64_t file_size = 0;
  std::optional<TickIndex> index = {};  // made when somebody first reads
  std::shared_ptr<const File> file = {};
  // Why the history does not lead here from the segments before, and from which tick on it can be
  // told from here. Both never change.
  std::optional<Error> break_before = {};
  std::uint64_t readable_from = 0;
};
using SegmentRef = std::shared_ptr<Segment>;

// For one whose header says that it follows damage.
void note_break_by_damage(Segment& segment);

class SegmentList {
 public:
  explicit SegmentList(const WalFiles& files) : files_(files) {}

  // Once, by whoever opens the log. Rising.
  void set(std::vector<SegmentRef> segments, std::optional<std::uint64_t> durable_tick);

  // A new last one. Of those before it, `header.previous` says which one ends where; what lies
  // between is not part of the log any more.
  void begin(SegmentRef segment);
  // An entry more in the last segment.
  void note_entry(std::uint64_t tick, std::uint64_t offset, std::uint64_t end,
                  std::uint64_t file_size);
  void note_file_size(std::uint64_t file_size);
  void set_durable(std::uint64_t tick);

  std::optional<std::uint64_t> first_tick() const;
  bool begins_cut() const;
  std::optional<std::uint64_t> latest_tick() const;
  std::optional<std::uint64_t> durable_tick() const;
  TickLog::Sizes sizes() const;

  // Those all of whose ticks are before `tick`, but never the last one.
  std::vector<SegmentRef> before(std::uint64_t tick) const;
  std::optional<std::uint64_t> id_behind(std::size_t count) const;
  // The first `count` are not part of the log any more.
  void drop(std::size_t count);

  // docs of TickLog::read().
  Status read(std::uint64_t from, std::uint64_t to, const TickLog::Visit& visit) const;
  Status read_ticks(std::span<const std::uint64_t> ticks, const TickLog::Visit& visit) const;

 private:
  // A segment as it was at one moment.
  struct View {
    SegmentRef segment;
    std::uint64_t last_tick = 0;
    std::uint64_t end = 0;
    std::uint64_t start_offset = kSegmentHeaderSize;
    std::shared_ptr<const File> file;
  };
  // Those with ticks of the range. An error if the history does not lead to `from`.
  Result<std::vector<SegmentRef>> in_range(std::uint64_t from, std::uint64_t to) const;
  // The mutex is held.
  std::vector<SegmentRef> select(std::uint64_t from, std::uint64_t to) const;
  Result<View> view(const SegmentRef& segment, std::uint64_t from) const;
  Result<bool> read_segment(const View& view, std::uint64_t from, std::uint64_t to,
                            const TickLog::Visit& visit) const;
  // Its payload, if that can be had without looking at the entries before it.
  Result<std::optional<Bytes>> pick(const SegmentRef& segment, std::uint64_t tick) const;
  Error truncated(std::uint64_t from) const;
  // What to say where a segment cannot be read: that it is damaged, unless it is gone.
  Error damaged(const View& view, std::uint64_t offset,
                const std::optional<std::uint64_t>& last_good) const;

  const WalFiles& files_;
  mutable std::mutex mutex_;
  std::vector<SegmentRef> segments_;
  std::optional<std::uint64_t> durable_tick_;
};

}  // namespace varve::journal
