// A world at one tick, over the past of its records.
#pragma once

#include <cstdint>
#include <memory>

#include "journal/record_past.h"
#include "varve/history.h"

namespace varve::journal {

// `past` outlives it; `tick` was checked.
std::unique_ptr<PastWorld> make_past_world(const RecordPast& past, std::uint64_t tick);

RecordKey chunk_key(const ChunkPos& pos);
RecordKey entity_key_of(EntityId id);

}  // namespace varve::journal
