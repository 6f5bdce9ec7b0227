// The indexes of several stretches as if they were one.
#pragma once

#include <span>

#include "journal/history_blob.h"
#include "journal/history_index.h"

namespace varve::journal {

// Every record of them by kind and key, with its ticks of the range. `blobs` are of rising
// stretches, and checked.
Status merge_touched(std::span<const HistoryBlob> blobs, const TickRange& range,
                     const HistoryIndex::VisitTouched& visit);

}  // namespace varve::journal
