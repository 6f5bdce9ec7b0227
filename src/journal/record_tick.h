// What one tick says of one record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "varve/history.h"
#include "varve/key.h"
#include "varve/store.h"
#include "varve/tick.h"

namespace varve::journal {

// A record of any kind; nullopt: there is none. Only entities have owners.
using RecordValue = std::optional<EntityValue>;

struct RecordChange {
  enum class Kind : std::uint8_t {
    put,    // all of it: `value`
    bytes,  // its bytes, the owner stays: `data`
    owner,  // its owner, the bytes stay: `owner`
    edit,   // in the chunk type's bytes: `data`
  };
  Kind kind = Kind::put;
  std::string author = {};
  RecordValue value = {};
  Bytes data = {};
  std::optional<ChunkPos> owner = {};
};

struct RecordTick {
  std::uint64_t tick = 0;
  std::optional<RecordValue> image = {};   // what it was before, if the tick says so
  std::vector<RecordChange> changes = {};  // in the order in which they are made
  bool empty() const noexcept { return !image && changes.empty(); }
};

// Its bytes are copies where they are small, so that an edit does not keep a whole tick in memory.
RecordTick record_in(std::uint64_t tick, const TickMutations& mutations, const RecordKey& key);

}  // namespace varve::journal
