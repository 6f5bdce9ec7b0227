// Bringing a save and its journal together when a world is opened.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/vfs.h"
#include "journal/journal_folder.h"
#include "varve/store.h"
#include "varve/world_options.h"
#include "world/logger.h"

namespace varve {

// The disk journals are on; tests have one of their own.
struct JournalSeam {
  Vfs& vfs;
  bool background = true;
  std::uint64_t seed = 0;  // 0: from the system
};

// How long a tick may lie on its way to the log, which is a part of what the game allows it to be
// lost for: none where each tick, or each Nth, is to be durable.
std::chrono::milliseconds pick_up_time(const Durability& sync_mode) noexcept;

// After this the save is what it was at the last tick its journal knows, whether or not the options
// ask for a journal; and the journal, if they do, is this save's. Null if they do not.
//
// The two know each other by an id, which the save keeps as the global kJournalGlobal. A journal
// with ticks and another id belongs to another save, or this one was played without it since: it is
// set aside. `save_path` is empty where nobody knows it.
Result<std::unique_ptr<journal::JournalFolder>> open_journal(Store& store,
                                                             std::string_view save_path,
                                                             const WorldOptions& options,
                                                             const JournalSeam& seam,
                                                             Logger& logger);

}  // namespace varve
