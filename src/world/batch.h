// What a save takes away from the game thread: changed records, by reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "world/segmented_list.h"

namespace varve {

// Numbers the batches of one RecordTable. 0 is none.
using BatchId = std::uint64_t;

template <class Key, class Value>
struct BatchEntry {
  Key key;
  std::optional<Value> value = {};  // nullopt erases
};

// Each key appears once.
template <class Key, class Value>
struct Batch {
  // The batches it is made of: none if there is nothing in it, several where those of
  // failed saves were put together.
  std::vector<BatchId> ids = {};
  SegmentedList<BatchEntry<Key, Value>> entries = {};
};

}  // namespace varve
