// A name as it may stand in a message, whatever is in it: what is no name must not write control
// characters to a terminal, nor make two lines of one.
#pragma once

#include <string>
#include <string_view>

namespace varve {

// In quotes, with everything but printable ASCII as \x0a; cut after 64 bytes, and dots say so.
std::string quoted_name(std::string_view name);

}  // namespace varve
