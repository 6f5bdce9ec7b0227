// Where payloads were seen, so that the second chunk with the same one is noticed: a table of a
// fixed size from hashes to keys of chunks.
//
// What it says is a hint. The chunk may have changed since, the commit it was in may have failed,
// and older sightings make room for newer ones: whoever asks reads the chunk and compares.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "varve/bytes.h"
#include "varve/checksum.h"

namespace varve {

class SightingTable {
 public:
  // Takes at most so much memory, all of it now. One that is too small for anything remembers
  // nothing.
  explicit SightingTable(std::uint64_t memory_size);

  // The key of the chunk that was last seen with it. Good until the next note().
  std::optional<ByteView> find(const Hash128& hash) const noexcept;
  // A key that is longer than any of a chunk is not remembered.
  void note(const Hash128& hash, ByteView key) noexcept;

  std::uint64_t memory_size() const noexcept { return slots_.size() * sizeof(Slot); }

 private:
  // Of the key of a chunk with four coordinates.
  static constexpr std::size_t kKeySizeMax = 21;
  // A hash has the choice of so many slots.
  static constexpr std::size_t kSetSize = 4;

  struct Slot {
    Hash128 hash;
    std::array<std::byte, kKeySizeMax> key;
    std::uint8_t key_size = 0;  // 0: free
  };

  std::size_t set_of(const Hash128& hash) const noexcept {
    return hash.low % (slots_.size() / kSetSize) * kSetSize;
  }

  std::vector<Slot> slots_;
  std::size_t next_victim_ = 0;
};

}  // namespace varve
