// Bytes written as text in tests.
#pragma once

#include <string>
#include <string_view>

#include "varve/bytes.h"

namespace varve::test {

// "4e 53 43 44" or "4e534344" as bytes. Anything but hex digits and blanks aborts
// the test program: a typo in a test vector must not pass.
Bytes hex(std::string_view digits);

// The other way, for messages: "4e534344".
std::string to_hex(ByteView bytes);

}  // namespace varve::test
