// The saves called "memory:NAME", which live until they are removed or the process ends.
//
// A save's backups are saves too: NAME.backup is the newest, then NAME.backup.2 and so on.
// They belong to their save, so names that end like this cannot be given to another.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "store/record_tables.h"

namespace varve {

struct MemorySave {
  std::mutex mutex;  // of everything below; taken after the table's, parents first
  SharedTables newest;
  std::vector<std::shared_ptr<MemorySave>> backups;  // newest first
  bool is_open = false;

  // Keeps `next`. With a backup count, what was kept before becomes the newest backup. A
  // backup that somebody has open moves on like the others, and stays his if it drops
  // off the end. Throws std::bad_alloc before anything has changed.
  void publish(SharedTables next, std::optional<std::uint32_t> backup_count);
  void release();
};

// Names are what follows "memory:".
bool memory_save_exists(std::string_view name);
// Both leave it open: nobody else can open it until release().
Result<std::shared_ptr<MemorySave>> open_memory_save(std::string_view name);
Result<std::shared_ptr<MemorySave>> create_memory_save(std::string_view name);
// A backup that is renamed becomes a save of its own.
Status rename_memory_save(std::string_view from, std::string_view to);
Status remove_memory_save(std::string_view name);

}  // namespace varve
