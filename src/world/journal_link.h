// What a save says of its journal, in the global kJournalGlobal:
// docs/formats/world_journal_v1.md#in-the-save.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "varve/bytes.h"
#include "varve/result.h"
#include "varve/store.h"

namespace varve {

using JournalId = std::array<std::uint8_t, 16>;

struct JournalLink {
  JournalId id = {};
  // Counts up with every opening, so that each makes a commit of its own before a tick counts on
  // the link: what an opening before it could not make durable may be shown all the same.
  std::uint64_t opening = 0;
  std::string path = {};  // empty: beside the save
};

Bytes encode_link(const JournalLink& link);
// nullopt if the save has no journal.
Result<std::optional<JournalLink>> read_link(const StoreView& store);

}  // namespace varve
