// What a save takes away from the game thread: changed records, by reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace varve {

// Numbers the batches of one RecordTable. 0 is none.
using BatchId = std::uint64_t;

template <class Key, class Value>
struct BatchEntry {
  Key key;
  std::optional<Value> value = {};  // nullopt erases
};

// Each key appears once. A deque, since it grows on the game thread: a vector of 100,000
// entries would be moved in one frame.
template <class Key, class Value>
struct Batch {
  // The batches it is made of: none if there is nothing in it, several where those of
  // failed saves were put together.
  std::vector<BatchId> ids = {};
  std::deque<BatchEntry<Key, Value>> entries = {};
};

}  // namespace varve
