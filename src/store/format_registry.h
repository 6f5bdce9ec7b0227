// The formats this process knows, for rooms above this one.
#pragma once

#include <string_view>

#include "varve/format.h"

namespace varve {

// The format a path names by its scheme: "memory:arena" belongs to the format "memory".
// Null if what stands before the first colon is no format, as in most paths.
const Format* format_named_by(std::string_view path);

}  // namespace varve
