// Makes a Commit of what the game thread cut off: this is where chunks are encoded.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "varve/chunk.h"
#include "varve/store.h"
#include "world/save_job.h"
#include "world/thread_pool.h"

namespace varve {

struct BuiltCommit {
  Commit commit = {};
  // Chunks that could not be encoded and are not in it.
  std::vector<RecordProblem> problems = {};
  std::vector<ChunkPos> unsaved = {};
};

// What encoding needs.
struct Encoding {
  ThreadPool& threads;  // the calling thread helps
  BufferPool& buffers;
  std::atomic<std::uint64_t>& encode_count;
};

// For a store that can do what `can` says. What a chunk's type throws or returns as an error
// is a problem of that chunk alone, and so is a payload larger than the format takes.
BuiltCommit build_commit(const ChangesList& changes, const Capabilities& can,
                         const Encoding& encoding, Progress& progress);

}  // namespace varve
