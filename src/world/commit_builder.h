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

// Encodes on `encoders` and on the calling thread. What a chunk's type throws or returns as
// an error is a problem of that chunk alone.
BuiltCommit build_commit(const ChangesList& changes, ThreadPool& encoders, BufferPool& buffers,
                         Progress& progress, std::atomic<std::uint64_t>& encode_count);

}  // namespace varve
