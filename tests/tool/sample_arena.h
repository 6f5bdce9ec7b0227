// A save with a journal, as a game leaves it: the one docs/tool.md looks back into.
#pragma once

#include <string>

#include "varve/result.h"

namespace varve::test {

// Plays five ticks at `path`, which must be free:
//   1  a chunk of dots, a cow in it, rain
//   2  ann writes "house" at 0
//   3  bo writes "XXX" at 1
//   4  ann writes "door" at 8, and is hungry
//   5  bo takes the cow
Status make_arena(const std::string& path);

}  // namespace varve::test
