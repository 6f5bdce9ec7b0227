// Options of the varve format, the default for new saves.
//
// They say how what is saved from now on is stored. What is stored already stays as it is and
// is read whatever the options are, so they may be changed with every opening.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "varve/backend.h"
#include "varve/format.h"

namespace varve {

// How much time a save may spend on being small. Reading gets slower in the same order, but far
// less. What is smaller only by a little is stored as it is in every class.
enum class SpeedClass : std::uint8_t {
  raw,       // nothing is compressed; reads hand out what is stored, without a copy
  fast,      // LZ4
  balanced,  // zstd at its fastest level, with the save's dictionary for small chunks: about half
             // the size of LZ4 for two to three times its time
  small,     // zstd at a thorough level, in every way there is: for archives and downloads
};

struct VarveOptions {
  SpeedClass speed = SpeedClass::fast;

  // Bytes of one cell, where chunks are arrays of cells of one size: 4 for a pixel of material,
  // colour, damage and flags. All first bytes are then compressed together, all second bytes, and
  // so on, where that is smaller. 0 where there are no cells; at most 255. It is a hint: with a
  // wrong one chunks are larger, never wrong.
  std::size_t cell_size = 0;

  // Store a chunk as what differs from the generator's, where that is smaller. It then needs the
  // generator in the same version to be read, and the generator runs on every save and every read
  // of it. A generator that changes what it makes without a new version then makes chunks
  // unreadable, which is why nobody gets this without asking.
  bool deltas = false;

  // The log the save is kept in. With a weaker durability than every commit, a crash takes commits
  // that were acknowledged, always the last ones.
  FileBackendOptions file = {};

  // Learn from the small chunks of the save what they have in common (`balanced` and `small`).
  bool dictionaries = true;

  // Keep a payload that several chunks have once, and take so many bytes of memory, all of them
  // when the save is opened, to notice which do: 40 for each chunk that is remembered. 0: nothing
  // is shared. A chunk is compared with the last ones that were saved, as many as there is memory
  // for, and with everything that is shared already; compact() compares all. Payloads count as the
  // same if they are stored as the same bytes, and those that take less than 128 are not worth it.
  // An older Varve does not open a save in which something was shared.
  std::uint64_t sharing_memory_size = 0;
};

// The varve format with these options, to be registered under a name of the game's own:
//
//   register_format(make_varve_format("mygame", {.speed = SpeedClass::balanced, .cell_size = 4}));
//   World::open("world", {.format = "mygame"});
//
// Saves are the same as those of the format "varve", which has the defaults, and either opens them.
std::unique_ptr<const Format> make_varve_format(std::string name, const VarveOptions& options);

}  // namespace varve
