// The head of a payload's frame, and its checksum: docs/formats/varve_v1.md#payload.
//
// A frame is checksum, head and body. The head says how the body becomes the payload. The first 16
// bytes of all frames have the same fields, and the checksum is made of them and of a hash of the
// rest: so the hash of a payload that is stored as it is serves the frame, and the log it goes to
// as well. For the files of this folder; a store uses payload.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/byte_writer.h"
#include "store/varve/payload_info.h"
#include "varve/bytes.h"
#include "varve/checksum.h"
#include "varve/result.h"

namespace varve {

inline constexpr std::size_t kChecksumSize = 8;

// Checksum, form, stride, recipe and payload_size.
inline constexpr std::size_t kFrameStartSize = 16;
using FrameStart = std::array<std::byte, kFrameStartSize>;

// All that does not depend on the key. `frame` has at least a checksum.
inline ByteView behind_checksum(ByteView frame) noexcept { return frame.subspan(kChecksumSize); }

// Appends room for the checksum, and the head, of a payload below 2^32 bytes. The body follows,
// then seal_frame().
void begin_frame(const PayloadInfo& info, ByteWriter& out);

// Fills in the checksum of the frame that begins at `start` and ends where `out` does. It has its
// first kFrameStartSize bytes at least.
void seal_frame(ByteView key, std::size_t start, ByteWriter& out);

// The first bytes of the frame of a payload that is stored as it is: the payload is all the rest.
FrameStart raw_frame_start(ByteView key, std::uint16_t recipe, const HashedBytes& payload) noexcept;

// Whether the frame is as it was sealed, under this key: corruption if not.
Status check_seal(ByteView key, ByteView frame);

// The recipe alone, which stands at one place in every frame. nullopt for what is too short to be
// one; nothing else is looked at.
std::optional<std::uint16_t> recipe_of(ByteView frame) noexcept;

// The head, and where the body begins. `frame` may end anywhere behind the head. Every number in it
// is within its limit, but nothing has been compared with the body yet.
Result<std::pair<PayloadInfo, std::size_t>> read_head(ByteView frame);

}  // namespace varve
