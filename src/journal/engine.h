// StorageEngine at work.
//
//   commit_tick()   check against the state -> log -> apply to the state -> is a snapshot due?
//   a thread        a copy of the state -> bytes -> log synced that far -> backend -> what is old
//   enough goes recover()       the newest good snapshot at or before the tick -> the log from
//   there
//   at_tick()       that snapshot, and behind it the entries that speak of what is asked for, which
//   an index of history knows (history_index.h); a thread reads them from the log and writes it
//
// Invariants:
// 1. A snapshot is written when the log is durable up to its tick, and the log is cut only behind a
// snapshot that was
//    read back and found good, after it was noted where the log will begin.
// 2. The state is what the log says up to the latest tick, always.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "io/vfs.h"
#include "varve/storage_engine.h"

namespace varve::journal {

struct EngineOptions {
  // False: what threads would do is done inside the calls, so that a test sees the same operations
  // in every run.
  bool background = true;
  std::uint64_t seed = 0;               // 0: from the system
  std::uint64_t stretch_ticks = 1'200;  // that an index of history is about
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

Result<std::unique_ptr<StorageEngine>> open_storage(Vfs& vfs, std::string_view path,
                                                    const StorageConfig& config,
                                                    const EngineOptions& options);

}  // namespace varve::journal
