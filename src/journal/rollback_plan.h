// What it takes to put a part of a world back to what it was.
#pragma once

#include "journal/record_past.h"
#include "varve/history.h"

namespace varve::journal {

Result<RollbackPlan> plan_rollback(const RecordPast& past, const RollbackRequest& request);

}  // namespace varve::journal
