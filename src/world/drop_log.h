// Guards against loads that come too late.
//
// A load reads the store in the background. Until its result is taken in, the game may have
// changed the same record, saved it and dropped it from memory again: the result is then
// older than the store, and there is no record in memory left to say so. The log remembers
// what was dropped after it had changed, and since which generation the store has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "varve/key.h"

namespace varve {

class DropLog {
 public:
  // The store has the record's last change in `generation`, or earlier.
  void note_chunk(const ChunkPos& pos, std::uint64_t generation) { chunks_[pos] = generation; }
  void note_entity(EntityId id, std::uint64_t generation) { entities_[id] = generation; }

  // Whether something read at `generation` may be older than what was dropped.
  bool outdates_chunk(const ChunkPos& pos, std::uint64_t generation) const {
    return outdates(chunks_, pos, generation);
  }
  bool outdates_entity(EntityId id, std::uint64_t generation) const {
    return outdates(entities_, id, generation);
  }

  std::size_t size() const noexcept { return chunks_.size() + entities_.size(); }

  // No load that is under way read anything older than `generation`.
  void forget_until(std::uint64_t generation) {
    std::erase_if(chunks_, [&](const auto& item) { return item.second <= generation; });
    std::erase_if(entities_, [&](const auto& item) { return item.second <= generation; });
  }

 private:
  template <class Map, class Key>
  static bool outdates(const Map& map, const Key& key, std::uint64_t generation) {
    const auto found = map.find(key);
    return found != map.end() && found->second > generation;
  }

  std::unordered_map<ChunkPos, std::uint64_t> chunks_;
  std::unordered_map<EntityId, std::uint64_t> entities_;
};

}  // namespace varve
