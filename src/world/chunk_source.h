// Where chunks come from that are not in memory.
#pragma once

#include <memory>
#include <vector>

#include "varve/chunk.h"
#include "varve/generator.h"
#include "varve/store.h"

namespace varve {

struct LoadedChunk {
  ChunkRef chunk = {};
  std::vector<Entity> entities = {};
  bool generated = false;
};

// Thread safety: all calls may be made from any thread.
class ChunkSource {
 public:
  ChunkSource(const Store& store, std::shared_ptr<const ChunkType> type,
              std::shared_ptr<const Generator> generator);

  // The chunk with its entities: stored, or made by the generator. With `erased` what is
  // stored does not count: its erasure is on the way.
  Result<LoadedChunk> load(const ChunkPos& pos, bool erased) const;
  // What the generator makes of it.
  Result<ChunkRef> generate(const ChunkPos& pos) const;

  std::uint64_t store_generation() const { return store_.generation(); }

 private:
  Result<LoadedChunk> load_unguarded(const ChunkPos& pos, bool erased) const;

  const Store& store_;
  std::shared_ptr<const ChunkType> type_;
  std::shared_ptr<const Generator> generator_;
};

}  // namespace varve
