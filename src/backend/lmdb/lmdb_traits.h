// What the LMDB backends that write and that read have in common.
#pragma once

#include <vector>

#include "backend/lmdb/lmdb_reads.h"
#include "io/vfs.h"
#include "varve/backend.h"

namespace varve::lmdb {

BackendTraits lmdb_backend_traits();

// All but the durable sequence. Throws std::bad_alloc.
Result<BackendStats> stats_at(Vfs& vfs, const ReadTxn& txn);

// The answer to multi_get() where none can be given. Does not throw.
std::vector<Result<std::optional<Bytes>>> all_failed(std::size_t count, const Error& why);

}  // namespace varve::lmdb
