// The past of a save that no world of this process has open.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/world_history.h"
#include "varve/format.h"
#include "varve/history.h"
#include "varve/nebula.h"
#include "world/journal_link.h"

namespace varve {
namespace {

using journal::JournalFolder;

// Varve's own, by the name a journal has them under. None: edits say which one they need.
std::shared_ptr<const ChunkType> own_chunk_type(std::string_view name) {
  for (auto type : {raw_chunks(), nebula::voxel_chunks()}) {
    if (type->name() == name) return type;
  }
  return nullptr;
}

struct Opened {
  std::unique_ptr<Store> store;
  std::unique_ptr<JournalFolder> journal;
};

Result<std::unique_ptr<WorldHistory>> open_history(std::string_view save_path,
                                                   const HistoryOptions& options) {
  auto opened = std::make_shared<Opened>();
  // The save first: what it holds, the journal then has.
  VARVE_ASSIGN(opened->store, open_store_to_read(save_path));
  if (options.generator) opened->store->use_generator(options.generator);
  const bool may_have_one = opened->store->capabilities().globals;
  std::optional<JournalLink> link;
  if (may_have_one) {
    VARVE_ASSIGN(link, read_link(*opened->store));
  }
  if (!link) {
    return not_found(fmt::format(
        "{} has no journal, so it has no past: open the world with WorldOptions::journal",
        save_path));
  }
  std::string path = options.journal_path.empty() ? link->path : options.journal_path;
  if (path.empty()) path = std::string(save_path) + std::string(journal::kJournalSuffix);
  VARVE_ASSIGN(opened->journal, JournalFolder::open_to_read(posix_vfs(), path));
  if (opened->journal->meta().id != link->id) {
    return invalid_argument(
        fmt::format("{}: this journal belongs to another save than {}", path, save_path));
  }
  auto type = options.chunk_type;
  if (type == nullptr) type = own_chunk_type(opened->journal->meta().chunk_type);
  return journal::make_world_history({.journal = *opened->journal,
                                      .store = *opened->store,
                                      .chunk_type = std::move(type),
                                      .generator = options.generator,
                                      .owned = opened});
}

}  // namespace

Result<std::unique_ptr<WorldHistory>> WorldHistory::open(std::string_view save_path,
                                                         const HistoryOptions& options) {
  return or_out_of_memory([&] { return open_history(save_path, options); });
}

}  // namespace varve
