// What a journal knows that its save does not: the ticks behind the save's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "journal/tick_log.h"
#include "varve/chunk.h"
#include "varve/generator.h"
#include "varve/store.h"

namespace varve {

struct RollForward {
  // What brings the save to `commit.tick`. Without any tick it has the save's own, and nothing.
  Commit commit = {};
  std::uint64_t tick_count = 0;
  // Records that could not be brought along: they stay as they are stored.
  std::vector<RecordProblem> problems = {};
  // The log is damaged behind commit.tick.
  std::optional<Error> damage = {};
};

// `generator` may be null.
Result<RollForward> roll_forward(const journal::TickLog& log, const Store& store,
                                 const ChunkType& type, const Generator* generator);

}  // namespace varve
