// The part of a sorted table of positions a filter admits.
#pragma once

#include <limits>

#include "varve/store.h"

namespace varve {

// The first position a filter may admit, and those that sort before it.
inline ChunkPos first_of(const ChunkFilter& filter) {
  if (filter.box) return filter.box->min;
  ChunkPos first;
  // Of all spaces the default one comes first; of all counts, none at all.
  if (filter.space) first.space = *filter.space;
  first.coordinate_count = 0;
  first.coordinates.fill(std::numeric_limits<std::int32_t>::min());
  return first;
}

// Whether no position from this one on is admitted.
inline bool is_behind(const ChunkFilter& filter, const ChunkPos& pos) {
  if (filter.box) return filter.box->max < pos;
  return filter.space && *filter.space != pos.space;
}

}  // namespace varve
