// The format "memory": saves that live as long as the process, for tests, for matches
// nobody keeps, and for looking at a world without a disk.
//
// Records are kept as the Bytes they came in, without a copy.
#pragma once

#include <memory>

#include "varve/format.h"

namespace varve {

std::unique_ptr<const Format> make_memory_format();

}  // namespace varve
