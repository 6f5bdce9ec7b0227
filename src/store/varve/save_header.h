// What a save is, and which generation. It is in every batch, so that a commit is one generation
// or none; header_records.h puts it there.
#pragma once

#include <cstdint>

#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

// Chunks of the save may share payloads. It stays when none does any more.
inline constexpr std::uint64_t kFeatureSharedPayloads = 1;
// There is a copy of the header, which every commit writes too.
inline constexpr std::uint64_t kFeatureHeaderCopy = 2;

struct SaveHeader {
  // What a reader must know to read the save at all, a bit each. A program that does not know one
  // of them refuses the save.
  std::uint64_t features = 0;
  // Drawn when the save was made, and the same in its backups.
  std::uint64_t save_id = 0;
  std::uint64_t generation = 0;
  std::uint64_t tick = 0;
  // In the table of generators; 0 if there is none.
  std::uint32_t generator_number = 0;

  friend bool operator==(const SaveHeader&, const SaveHeader&) = default;
};

// Whether they are of one generation of one save. A backup has a copy of its header also where the
// save has none yet.
bool is_same_state(SaveHeader a, SaveHeader b) noexcept;

Bytes encode_save_header(const SaveHeader& header);
// unsupported, with what to do, for what a newer program made.
Result<SaveHeader> decode_save_header(ByteView in);

}  // namespace varve
