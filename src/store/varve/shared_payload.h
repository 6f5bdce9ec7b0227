// Payloads that several chunks share: docs/formats/varve_v1.md#shared-payloads has every byte.
//
// A shared payload is a frame under a hash of its bytes, with a count of the chunks that refer to
// it; in the record of each is a reference, which is a frame as well. A hash only finds bytes that
// may be the same: they are compared before anything refers to them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "store/varve/payload_info.h"
#include "store/varve/save_keys.h"
#include "varve/backend.h"

namespace varve {

// Two chunks that share save this frame, less two references, two keys and a count: what is
// smaller is not worth it.
inline constexpr std::size_t kSharedFrameSizeMin = 128;
// No reference is longer. So a damaged value that is longer was none.
inline constexpr std::size_t kReferenceSizeMax = 32;
inline constexpr std::uint64_t kSharedCountMax = std::uint64_t{1} << 48;

// Of everything behind the checksum of a frame. A function, so that a test can bring another.
using ContentHash = Hash128 (*)(ByteView);

struct Reference {
  Hash128 hash;
  std::uint64_t payload_size = 0;
  std::uint16_t recipe = 0;
};

// Whether a frame says so of itself; its first bytes are enough.
bool looks_like_reference(ByteView frame) noexcept;
// In place of `frame`, a good one of the chunk under `key`.
Result<Bytes> encode_reference(ByteView key, ByteView frame, const Hash128& hash);
// corruption for all that is not one. `is_verified`: the backend has compared its checksum.
Result<Reference> decode_reference(ByteView key, ByteView frame, bool is_verified);

// The same frame, which is whole, under another key.
Bytes sealed_for(ByteView key, ByteView frame);
// Whether two frames hold the same bytes in the same way, whatever their keys are.
bool are_same_but_for_key(ByteView a, ByteView b) noexcept;

// How many chunks refer to a payload, in its record.
Bytes encode_shared_count(std::uint64_t count);
// At least 1 and at most kSharedCountMax: all else is corruption.
Result<std::uint64_t> decode_shared_count(ByteView in);

// "shared payload 0123...", for messages.
std::string shared_name(const Hash128& hash);

// What the chunks of a save refer to, and how often. Those that are damaged refer to nothing.
// `view` does not change meanwhile.
Result<std::map<Hash128, std::uint64_t>> count_references(const ReadView& view, bool is_verified);

}  // namespace varve
