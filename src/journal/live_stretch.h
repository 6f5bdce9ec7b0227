// A stretch whose index is not in the backend: what is known of it, and up to where.
//
// Thread safety: any thread. Nobody waits for the log while somebody else is kept waiting: what is
// read is added when it is there.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "journal/history_blob.h"
#include "journal/tick_log.h"

namespace varve::journal {

class LiveStretch {
 public:
  explicit LiveStretch(const Stretch& stretch) : LiveStretch(stretch, stretch.first_tick) {}
  // Of the part that begins with this tick.
  LiveStretch(const Stretch& stretch, std::uint64_t from) : stretch_(stretch), covered_to_(from) {}

  const Stretch& stretch() const noexcept { return stretch_; }

  // A tick that was appended behind `before`, or as the first of all. Left out where something
  // between is not known: reading brings it.
  void note(std::uint64_t tick, const TickMutations& mutations,
            const std::optional<std::uint64_t>& before);

  // Reads what the log has up to `last`, if it is not known yet, and counts what it reads.
  Status cover(const TickLog& log, std::uint64_t last, std::atomic<std::uint64_t>& scanned_count);

  void ticks_of(const TouchedKey& key, const TickRange& range,
                std::vector<std::uint64_t>& out) const;
  Result<Bytes> encode() const;

 private:
  const Stretch stretch_;
  mutable std::mutex mutex_;
  Touched touched_;
  // Everything before this tick is known. Never behind the end of the stretch.
  std::uint64_t covered_to_;
};

}  // namespace varve::journal
