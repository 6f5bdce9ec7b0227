// What every store asks of a commit before it writes a byte.
#pragma once

#include <cstdint>

#include "varve/store.h"

namespace varve {

// Success if a store with these capabilities, which is at `store_tick`, may take the
// commit. The error names the record.
//
// - invalid_argument: a key twice, a bad name, a position that is none, a tick that runs
//   backwards.
// - unsupported: a put of what the format cannot carry, or of more than it can. Erasing such a
// record is no
//   error: it cannot be there, so stores must expect it and find nothing.
Status check_commit(const Commit& commit, const Capabilities& capabilities,
                    std::uint64_t store_tick);

}  // namespace varve
