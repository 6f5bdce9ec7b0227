// Appends entries to a log and makes them durable.
//
// Invariants:
// 1. Entries are written once they are accepted, one write each; what is not durable is in memory,
// too.
// 2. What follows the beginning of a sync lies on a boundary, so that no sync of it rewrites a
// sector that
//    is durable. The entry says whether the sync was through when it was written.
// 3. After a failed sync nothing more is written to that file. What it may have lost becomes a new
// segment; if that
//    cannot be had, the writer is latched.
// 4. After a failed write nothing more is written to that file, either: what it left behind the end
// could
//    be taken for something. The next entry goes to a new segment.
//
// Thread safety: any thread. Syncs begun by begin_sync() run beside appends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "journal/tick_log.h"
#include "journal/wal_pending.h"
#include "journal/wal_recovery.h"
#include "journal/wal_segments.h"

namespace varve::journal {

class WalWriter {
 public:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  WalWriter(const TickLogOptions& options, const WalFiles& files, SegmentList& segments)
      : options_(options), files_(files), segments_(segments), codec_(options.compression) {}

  // Goes on where recovery ended. Writes again what may be lost.
  Status start(const Recovered& recovered);

  Status append(std::uint64_t tick, ByteView payload);
  Status sync();
  // Beside appends and syncs, but by one thread at a time.
  Status truncate_before(std::uint64_t tick);
  // The last thing: everything durable, and said so.
  Status close();

  // --- For upkeep.

  // A sync that runs without the lock: finish_sync() is told what came of syncing `file`.
  struct SyncTicket {
    std::shared_ptr<File> file;
  };
  // nullopt if there is nothing to sync.
  std::optional<SyncTicket> begin_sync(Lock& lock, bool even_if_durable = false);
  void finish_sync(Lock& lock, const SyncTicket& ticket, const Status& synced);

  std::mutex& mutex() noexcept { return mutex_; }
  // All of these expect the lock to be held.
  bool needs_spare() const;
  // The zeros it should have; its segment will grow further.
  std::uint64_t spare_size() const { return ahead_size(); }
  void set_making_spare(bool is_making) { is_making_spare_ = is_making; }
  void set_spare(std::unique_ptr<File> spare) { spare_ = std::move(spare); }
  bool needs_zeros() const;
  // Writes some more of them. False if that failed.
  bool write_zeros();
  bool sync_is_urgent() const;
  // When what is not durable should be, if time decides.
  std::optional<Clock::time_point> sync_deadline() const;
  // Upkeep that has something to do is woken through this.
  std::condition_variable& work() noexcept { return work_; }

 private:
  Status check_latch() const;
  Error latch(Error error);
  Status do_append(Lock& lock, std::uint64_t tick, ByteView payload);
  // Decides whether the next entry goes on in the segment. If not, all before it is durable.
  Status make_room(Lock& lock, std::size_t payload_size);
  Status write_last(bool is_due);
  EntryHeader next_header(std::uint64_t tick) const;
  void add_pending(std::uint64_t tick, ByteView payload);
  bool sync_is_due() const;
  void wait_for_sync(Lock& lock);
  // Everything that was accepted.
  Status sync_all(Lock& lock);
  Status write_padding();
  void note_durable(std::uint64_t tick);
  // Makes a segment of everything that is pending. What fails before it has its name changes
  // nothing.
  // Latches if memory runs out on the way.
  Status begin_segment();
  Status try_begin_segment();
  // Its entries into `newborn_`, and what readers need to know.
  SegmentRef encode_newborn();
  // Those on the disk under a temporary name, durable.
  Status write_newborn(std::uint64_t* file_size);
  void adopt(const SegmentRef& segment);
  // Takes the last segment's file away from writing.
  void seal();
  bool waits_for_syncs() const;
  std::uint64_t ahead_size() const;
  void wake_upkeep();
  // Makes a file for the next segment of the one of a segment nobody needs, if there is none.
  void recycle(std::uint64_t id);

  const TickLogOptions& options_;
  const WalFiles& files_;
  SegmentList& segments_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable sync_done_;
  // Null if the next entry begins a segment.
  std::unique_ptr<File> file_;
  // The same file, for syncs beside writes: a File does one thing at a time.
  std::shared_ptr<File> sync_file_;
  std::unique_ptr<File> spare_;
  // Of the last segment and of everything pending.
  CompressionId codec_;
  bool is_making_spare_ = false;
  std::uint64_t segment_id_ = 0;
  std::uint64_t next_segment_id_ = 1;
  std::uint64_t end_ = 0;
  std::uint64_t file_size_ = 0;
  bool is_spoiled_ = false;  // a write to the file failed
  std::optional<std::uint64_t> latest_;
  std::optional<Link> durable_at_;
  bool follows_damage_ = false;
  Mark mark_;  // changed by start(), truncate_before() and close() alone, one at a time

  // Entries of a sync that is under way, and those behind it.
  PendingEntries syncing_;
  PendingEntries pending_;
  bool is_syncing_ = false;
  bool group_begins_ = false;
  Clock::time_point unsure_since_;
  ByteWriter newborn_;
  // Compression is not tried for so many entries, after it was of no use.
  std::uint32_t untried_left_ = 0;
  std::uint32_t untried_count_ = 0;
  bool is_latched_ = false;
  std::optional<Error> latch_;
};

}  // namespace varve::journal
