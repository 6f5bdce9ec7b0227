#include "store/quoted_name.h"

#include <fmt/format.h>

#include <iterator>

namespace varve {

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kShownSizeMax = 64;
  std::string out = "\"";
  for (const char c : name.substr(0, kShownSizeMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    }
  }
  out += name.size() > kShownSizeMax ? "...\"" : "\"";
  return out;
}

}  // namespace varve
