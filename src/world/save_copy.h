// save_to(): a whole world written anew somewhere else.
#pragma once

#include "varve/chunk.h"
#include "varve/store.h"
#include "world/save_job.h"
#include "world/thread_pool.h"

namespace varve {

// Writes what `source` holds, with the job's changes over it, to the job's path. The save
// appears there under its name only when it is complete; what a failure leaves
// behind is removed. Chunks that cannot be encoded are an error here, since a copy has no
// older state of them.
Result<SaveReport> save_copy(const SaveJob& job, const StoreView& source, ThreadPool& encoders,
                             BufferPool& buffers, std::atomic<std::uint64_t>& encode_count);

}  // namespace varve
