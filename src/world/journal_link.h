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
  std::string path = {};  // empty: beside the save
  friend bool operator==(const JournalLink&, const JournalLink&) = default;
};

Bytes encode_link(const JournalLink& link);
// nullopt if the save has no journal.
Result<std::optional<JournalLink>> read_link(const StoreView& store);

}  // namespace varve
