// What a world may do with a chunk and nobody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

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

  // Between the two, edits that setters describe go to `edits`, which may be null. The second tells
  // whether something changed that they do not say.
  static void begin_edits(Chunk& chunk, std::vector<Bytes>* edits) noexcept {
    chunk.changed_ = chunk.changed_as_whole_ = false;
    chunk.edits_ = edits;
  }
  static bool end_edits(Chunk& chunk) noexcept {
    chunk.edits_ = nullptr;
    return std::exchange(chunk.changed_as_whole_, false);
  }

  // Whether mark_changed() was called since the last time this was asked.
  static bool take_changed(Chunk& chunk) noexcept { return std::exchange(chunk.changed_, false); }
};

}  // namespace varve
