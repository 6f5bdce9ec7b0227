// The version of the library these headers belong to.
//
// CMake reads the three numbers from here, so that the package, the pkg-config
// file and the code can never disagree.
#pragma once

#define VARVE_VERSION_MAJOR 0
#define VARVE_VERSION_MINOR 1
#define VARVE_VERSION_PATCH 0

namespace varve {

// The version of the library that is linked, as "0.1.0". Compare it with the
// macros above to find a program built against other headers.
const char* version() noexcept;

}  // namespace varve
