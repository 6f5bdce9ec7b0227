// The memory backend with limits of one's own, for tests of what has to live with them.
#pragma once

#include <memory>

#include "varve/backend.h"

namespace varve {

// What make_memory_backend() has.
BackendTraits memory_backend_traits();

// Null if memory ran out, as with make_memory_backend().
std::unique_ptr<Backend> make_memory_backend(BackendTraits traits);

}  // namespace varve
