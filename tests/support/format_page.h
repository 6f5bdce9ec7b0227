// The worked examples in docs/formats/, as test vectors.
#pragma once

#include <string_view>

#include "varve/bytes.h"

namespace varve::test {

// The bytes of the first ```hex block under the heading "### `heading`" of a page
// ("components_v1.md"); what follows a ';' in a line is a comment. Aborts the test program
// if there is none: a page that has lost its example must not pass.
Bytes example_of(std::string_view page, std::string_view heading);

}  // namespace varve::test
