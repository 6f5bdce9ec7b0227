// The head of a payload's frame, and its checksum: docs/formats/varve_v1.md#payload.
//
// A frame is checksum, head and body. The head says how the body becomes the payload. For the
// files of this folder; a store uses payload.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/byte_writer.h"
#include "store/varve/payload_info.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

inline constexpr std::size_t kChecksumSize = 8;

// All that does not depend on the key. `frame` has at least a checksum.
inline ByteView behind_checksum(ByteView frame) noexcept { return frame.subspan(kChecksumSize); }

// Appends room for the checksum, and the head. The body follows, then seal_frame().
void begin_frame(const PayloadInfo& info, ByteWriter& out);

// Fills in the checksum of the frame that begins at `start` and ends where `out` does.
void seal_frame(ByteView key, std::size_t start, ByteWriter& out);

// The same where the body is `body`, which is not in `out`: it follows what is.
void seal_frame_around(ByteView key, std::size_t start, ByteView body, ByteWriter& out);

// Whether the frame is as it was sealed, under this key: corruption if not.
Status check_seal(ByteView key, ByteView frame);

// The recipe alone, which stands at one place in every frame. nullopt for what is too short to be
// one; nothing else is looked at.
std::optional<std::uint16_t> recipe_of(ByteView frame) noexcept;

// The head, and where the body begins. `frame` may end anywhere behind the head. Every number in it
// is within its limit, but nothing has been compared with the body yet.
Result<std::pair<PayloadInfo, std::size_t>> read_head(ByteView frame);

}  // namespace varve
