// What a world may do with a chunk and nobody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "varve/chunk.h"

namespace varve {

class ChunkAccess {
 public:
  // How many hold it. 1 seen by the one who holds it stays 1: nobody else has anything
  // to copy. The acquire pairs with the release of the last other holder, so that all
  // its reads come before the writes that this answer permits.
  static std::uint32_t holder_count(const Chunk& chunk) noexcept {
    return chunk.holder_count_.load(std::memory_order_acquire);
  }

  // The chunk to write into. Only while holder_count() is 1.
  static Chunk& writable(const ChunkRef& ref) noexcept { return const_cast<Chunk&>(*ref.chunk_); }

  // Whether mark_changed() was called since the last time this was asked.
  static bool take_changed(Chunk& chunk) noexcept { return std::exchange(chunk.changed_, false); }
};

}  // namespace varve
