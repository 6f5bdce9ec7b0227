// WorldHistory over the log of a journal, its index and the save.
#pragma once

#include <memory>

#include "journal/journal_folder.h"
#include "varve/history.h"

namespace varve::journal {

// What it looks at. All of it outlives the history, or is held by `owned`.
struct HistorySource {
  const JournalFolder& journal;
  // The newest generation of the save, whatever is committed meanwhile. It is never ahead of the
  // log: what it holds of a tick, the log has.
  const StoreView& store;
  std::shared_ptr<const ChunkType> chunk_type;  // none: edits cannot be applied
  std::shared_ptr<const Generator> generator = {};
  std::shared_ptr<const void> owned = {};  // gone with the history
};

std::unique_ptr<WorldHistory> make_world_history(HistorySource source);

}  // namespace varve::journal
