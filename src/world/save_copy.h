// save_to(): a whole world written anew somewhere else.
#pragma once

#include "varve/store.h"
#include "world/commit_builder.h"
#include "world/save_job.h"

namespace varve {

// Writes what `source` holds, with the job's changes over it, to the job's path. The save
// appears there under its name only when it is complete; what a failure leaves behind is
// removed. A record that cannot be read is left out, and of a chunk that cannot be encoded
// the copy gets what is stored; both are problems of the report. So a damaged world can
// still be saved elsewhere.
Result<SaveReport> save_copy(const SaveJob& job, const StoreView& source, const Encoding& encoding);

}  // namespace varve
