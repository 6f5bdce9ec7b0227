// errno as an Error.
#pragma once

#include <string_view>

#include "varve/result.h"

namespace varve {

// `what` names the call and its arguments: "write of 4096 bytes at offset 0".
Error posix_error(int error_number, std::string_view path, std::string_view what);

}  // namespace varve
