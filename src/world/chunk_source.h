// Where chunks come from that are not in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "varve/chunk.h"
#include "varve/generator.h"
#include "varve/store.h"

namespace varve {

struct LoadedChunk {
  ChunkRef chunk = {};  // none if only the entities were asked for
  std::vector<Entity> entities = {};
  // Why there are none, if they could not be read: that is no reason to lose the chunk.
  std::optional<Error> entities_error = {};
  bool generated = false;
};

enum class LoadKind : std::uint8_t {
  stored,    // what is stored, or made by the generator
  erased,    // made by the generator: the erasure of what is stored is on its way
  entities,  // the entities alone: the chunk itself is in memory
};

// Thread safety: all calls may be made from any thread.
class ChunkSource {
 public:
  ChunkSource(const Store& store, std::shared_ptr<const ChunkType> type,
              std::shared_ptr<const Generator> generator);

  // The chunk with its entities.
  Result<LoadedChunk> load(const ChunkPos& pos, LoadKind kind) const;
  // What the generator makes of it.
  Result<ChunkRef> generate(const ChunkPos& pos) const;

  std::uint64_t store_generation() const { return store_.generation(); }

 private:
  Result<LoadedChunk> load_unguarded(const ChunkPos& pos, LoadKind kind) const;

  const Store& store_;
  std::shared_ptr<const ChunkType> type_;
  std::shared_ptr<const Generator> generator_;
};

}  // namespace varve
