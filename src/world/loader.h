// Loads chunks in the background, the most urgent first.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "world/chunk_source.h"
#include "world/thread_pool.h"

namespace varve {

struct LoadOutcome {
  ChunkPos pos = {};
  std::uint64_t ticket = 0;
  // What was read is not older than this generation of the store.
  std::uint64_t generation = 0;
  Result<LoadedChunk> loaded = cancelled("not loaded");
};

class Loader {
 public:
  // `deliver` is called on the loader's threads and must neither block nor throw.
  Loader(const ChunkSource& source, unsigned thread_count,
         std::function<void(std::list<LoadOutcome>)> deliver);

  // One load per position at a time; the outcome carries the ticket.
  void request(const ChunkPos& pos, std::uint64_t ticket, int priority, LoadKind kind);
  // No effect on a load that has begun.
  void raise(const ChunkPos& pos, int priority);
  // If it has begun its outcome still comes.
  void cancel(const ChunkPos& pos);

 private:
  // The most urgent first; among equals the oldest.
  using Rank = std::pair<std::int64_t, std::uint64_t>;  // minus the priority, the ticket
  struct Waiting {
    std::list<LoadOutcome> outcome = {};  // one, filled in when it is loaded
    LoadKind kind = LoadKind::stored;
  };

  void load_one();

  const ChunkSource& source_;
  std::function<void(std::list<LoadOutcome>)> deliver_;
  std::mutex mutex_;
  std::map<Rank, Waiting> waiting_;
  std::unordered_map<ChunkPos, Rank> ranks_;
  ThreadPool threads_;  // last, so that it ends first
};

}  // namespace varve
