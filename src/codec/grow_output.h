// Room for decoders that learn the size of their output only by decoding. For
// the files of this folder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

// "what: decodes to more than the limit of N bytes".
Error over_limit(std::string_view what, std::size_t output_size_limit);

// Gives `out` this size and indeterminate contents. The old block is dropped first
// and not copied: both at once could pass the caller's limit.
void replace_size(Buffer& out, std::size_t size);

// Shares what was decoded. A block that is mostly slack is copied, or a cache of
// decoded chunks would hold several times what it counts.
Bytes freeze_without_slack(Buffer&& out);

// Calls decode(room) with more and more room until the output fits or the limit is
// reached. decode returns the size of the output, or nullopt if it needs more room.
// Fourfold steps keep the work repeated below a third of the whole.
template <class Decode>
Status decode_growing(Buffer& out, std::size_t size_guess, std::size_t output_size_limit,
                      std::string_view what, Decode decode) {
  constexpr std::size_t kRoomMin = 64;
  const std::size_t room_max = std::max(output_size_limit, kRoomMin);
  std::size_t room = std::clamp(size_guess, kRoomMin, room_max);
  // A block that is there already costs nothing.
  room = std::max(room, std::min(out.capacity(), room_max));
  for (;;) {
    replace_size(out, room);
    VARVE_ASSIGN(const std::optional<std::size_t> size, decode(out.span()));
    if (size.has_value() && *size <= output_size_limit) {
      out.resize(*size);
      return {};
    }
    if (size.has_value() || room == room_max) return over_limit(what, output_size_limit);
    room = room > room_max / 4 ? room_max : room * 4;
  }
}

}  // namespace varve
