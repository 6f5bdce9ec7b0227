// One commit on its way from the game thread to the store, and what came of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "varve/backup.h"
#include "varve/chunk.h"
#include "varve/format.h"
#include "varve/store.h"
#include "world/batch.h"
#include "world/save_state.h"

namespace varve {

using ChunkBatch = Batch<ChunkPos, ChunkRef>;
using EntityBatch = Batch<EntityId, EntityValue>;
using NamedBatch = Batch<std::string, Bytes>;

// The changes of all four kinds.
struct Changes {
  ChunkBatch chunks = {};
  EntityBatch entities = {};
  NamedBatch players = {};
  NamedBatch globals = {};
  // Damaged chunks whose stored bytes must be kept aside before they are replaced.
  std::vector<ChunkPos> quarantine = {};

  bool any_entries() const noexcept {
    return !chunks.entries.empty() || !entities.entries.empty() || !players.entries.empty() ||
           !globals.entries.empty();
  }
};

// Oldest first. A list, since what was cut off the game thread must not be lost for lack
// of memory: nodes move from list to list without an allocation.
using ChangesList = std::list<Changes>;

// Every key of one kind once, as its newest change has it. Points into `list`.
template <class Key, class Value>
std::vector<const BatchEntry<Key, Value>*> newest(const ChangesList& list,
                                                  Batch<Key, Value> Changes::* kind) {
  std::vector<const BatchEntry<Key, Value>*> entries;
  std::size_t count = 0;
  for (const Changes& changes : list) count += (changes.*kind).entries.size();
  if (count == 0) return entries;
  entries.reserve(count);
  if (list.size() == 1) {
    for (const auto& entry : (list.front().*kind).entries) entries.push_back(&entry);
    return entries;
  }
  std::unordered_set<Key> seen;
  for (auto changes = list.rbegin(); changes != list.rend(); ++changes) {
    for (const auto& entry : ((*changes).*kind).entries)
      if (seen.insert(entry.key).second) entries.push_back(&entry);
  }
  return entries;
}

// All of them in one, so that values nobody needs any more are let go.
Changes merged(const ChangesList& list);

enum class SaveKind : std::uint8_t {
  whole,  // everything that is dirty: the world as of one tick
  // Parts of it.
  write_through,
  eviction,
  timed,  // also of a player who left
  copy,   // save_to() and back_up()
};

// Counts one commit in.
void add_stats(SaveReport& report, const CommitStats& stats);

// What came of it, as far as the game thread has to know. The report is with the state.
struct SaveOutcome {
  SaveKind kind = SaveKind::whole;
  std::shared_ptr<SaveHandle::State> state = {};
  // Which batches are stored now: on success those of the job and of all that failed
  // before it.
  std::vector<BatchId> stored_chunks = {};
  std::vector<BatchId> stored_entities = {};
  std::vector<BatchId> stored_players = {};
  std::vector<BatchId> stored_globals = {};
  // Which records this commit erased: they need not be remembered any more.
  std::vector<ChunkPos> erased_chunks = {};
  std::vector<EntityId> erased_entities = {};
  std::vector<std::string> erased_players = {};
  std::vector<std::string> erased_globals = {};
  // What the store is at after it, if it succeeded.
  bool succeeded = false;
  std::uint64_t generation = 0;
  std::uint64_t tick = 0;
  // Chunks that were left out although their batch is stored: they stay dirty.
  std::vector<ChunkPos> unsaved = {};
  bool generator_recorded = false;
};

struct SaveJob {
  ChangesList changes = {};  // one
  std::uint64_t tick = 0;
  std::optional<GeneratorId> generator = {};       // to be remembered
  std::optional<std::uint32_t> backup_count = {};  // of a whole save
  std::string copy_path = {};                      // of a copy
  const Format* copy_format = nullptr;
  std::optional<BackupOptions> backup = {};  // of a copy that is a hot backup; it has no changes
  std::list<SaveOutcome> outcome = {};       // one, filled in when it is done
  std::chrono::nanoseconds start_time{};
  std::chrono::steady_clock::time_point posted_at{};

  SaveKind kind() const noexcept { return outcome.front().kind; }
  SaveHandle::State& state() const noexcept { return *outcome.front().state; }
};

}  // namespace varve
