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
// decoded chunks would hold several times what it counts; it is not where block and
// copy, which exist together, would pass the limit.
Bytes freeze_without_slack(Buffer&& out, std::size_t output_size_limit);

// Calls decode(room) with more and more room until the output fits or the limit is
// reached. decode returns the size of the output, or nullopt if it needs more room.
// Fourfold steps keep the work that is done again near the size of the output.
template <class Decode>
Status decode_growing(Buffer& out, std::size_t size_guess, std::size_t output_size_limit,
                      std::string_view what, Decode decode) {
  constexpr std::size_t kRoomMin = 64;
  // A block that is there already costs nothing.
  std::size_t room = std::min(std::max({size_guess, kRoomMin, out.capacity()}), output_size_limit);
  for (;;) {
    replace_size(out, room);
    VARVE_ASSIGN(const std::optional<std::size_t> size, decode(out.span()));
    if (size.has_value()) {
      out.resize(*size);
      return {};
    }
    if (room == output_size_limit) return over_limit(what, output_size_limit);
    room = room > output_size_limit / 4 ? output_size_limit : room * 4;
  }
}

}  // namespace varve
