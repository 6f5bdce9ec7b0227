// Ticks that are durable between saves, for a World in any format.
//
//   auto world = World::open_or_create("saves/arena", {.journal = JournalConfig{}});
//
// Each tick() hands what changed in it to a log beside the save, in the background. After a crash
// the world opens as it was at the last tick that was durable: what the save holds, and the log
// since. And the log is kept for a while: varve/history.h reads the past from it.
//
// What a crash takes is at most what sync_mode says, always from the end. A save waits for the log
// to be durable up to its tick, so that it is never ahead of it.
//
// A save that has a journal and is opened without one is brought up to date from it, and goes on
// without: the journal is left behind, and is set aside (arena.journal.detached) if the world is
// opened with one again.
//
// A backup that takes the place of its save is brought up to what the journal knows when it is
// opened: to stay at the backup, move the journal away first. Where the journal has a path of its
// own, a backup that is opened beside its save needs another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "varve/backend.h"
#include "varve/storage_engine.h"

namespace varve {

// The global by which a save says that it has a journal, and which: not for games.
inline constexpr std::string_view kJournalGlobal = "varve:journal";

struct JournalConfig {
  // A folder. Empty: the path of the save and ".journal".
  std::string path = {};
  // every_n counts ticks that changed something.
  Durability sync_mode = {.kind = Durability::Kind::every_ms, .interval_ms = 50};
  LogCompression compression = LogCompression::lz4;
  std::uint64_t segment_size = std::uint64_t{64} << 20;
  // At least so many ticks can be read back: an hour at 20 a second. What is not stored in the save
  // yet is kept in any case.
  std::uint64_t history_ticks = 72'000;
  // The first change of a record in each stretch of so many ticks is logged with what was there
  // before: shorter ones make the past quicker to read and the log larger. Of a new journal.
  std::uint64_t stretch_ticks = 1'200;
  // What may wait to be logged, roughly in bytes. A disk that is slower for so long makes tick()
  // wait; one that fails for so long makes the world give the journal up and go on with saves
  // alone, and the log callback hears of it.
  std::size_t queue_size_max = std::size_t{64} << 20;
  // If the log is damaged before its end: open with the last tick that can be told. What the log
  // had is kept beside it. Without this such a world is not opened.
  bool accept_damage = false;
};

}  // namespace varve
