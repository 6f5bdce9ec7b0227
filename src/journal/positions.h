// Chunk positions in a row, each told by how it differs from the one before.
//
// A position begins with a varint: 0 if it has the space and the number of coordinates of the one
// before; 1 if there is none (an entity that is nowhere); else 2 + 4 * the number of its space +
// its number of coordinates - 1. Spaces are numbered as they come, and the first use of a number is
// followed by the space's name with its size in front. Then each coordinate as a zigzag varint,
// minus that of the last position of the row, or 0 after a change of space or count. A row begins
// as if there had been none before it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "varve/key.h"

namespace varve::journal {

// The spaces of one file or entry, while it is written. All rows of it share one.
class SpaceNumbers {
 public:
  // The number, and whether the name has to follow.
  std::pair<std::uint64_t, bool> number_of(Space space) {
    const auto [at, is_new] = numbers_.try_emplace(space.id(), numbers_.size());
    return {at->second, is_new};
  }

 private:
  std::map<std::uint32_t, std::uint64_t> numbers_;
};

class PositionWriter {
 public:
  PositionWriter(SpaceNumbers& spaces, ByteWriter& out) : spaces_(spaces), out_(out) {}
  void write(const std::optional<ChunkPos>& pos);

 private:
  SpaceNumbers& spaces_;
  ByteWriter& out_;
  std::optional<ChunkPos> previous_;
};

class PositionReader {
 public:
  // `spaces` are those the file or entry has named so far.
  PositionReader(std::vector<Space>& spaces, ByteReader& in) : spaces_(spaces), in_(in) {}
  std::optional<ChunkPos> read();
  // Where nowhere makes no sense.
  ChunkPos read_somewhere();

 private:
  void read_kind(std::uint64_t kind);

  std::vector<Space>& spaces_;
  ByteReader& in_;
  std::optional<ChunkPos> previous_;
};

}  // namespace varve::journal
