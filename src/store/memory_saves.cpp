#include "store/memory_saves.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/try.h"

namespace varve {
namespace {

using SharedSave = std::shared_ptr<MemorySave>;

struct SaveTable {
  std::mutex mutex;
  std::map<std::string, SharedSave, std::less<>> saves;
};

SaveTable& save_table() {
  // Never destroyed: a world may be closed while the process ends.
  static SaveTable& table = *new SaveTable;
  return table;
}

struct BackupName {
  std::string_view of;
  std::size_t index = 0;  // 0 is the newest
};

// "arena.backup" and "arena.backup.2" taken apart; nullopt for other names.
std::optional<BackupName> as_backup(std::string_view name) {
  constexpr std::string_view kSuffix = ".backup";
  std::size_t number = 1;
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) {
    const std::string_view digits = name.substr(dot + 1);
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number =
        error == std::errc() && stop == digits.data() + digits.size() && !digits.starts_with('0');
    if (is_number && number >= 2) {
      name = name.substr(0, dot);
    } else {
      number = 1;
    }
  }
  if (!name.ends_with(kSuffix) || name.size() == kSuffix.size()) return std::nullopt;
  return BackupName{name.substr(0, name.size() - kSuffix.size()), number - 1};
}

// The save with this name, or null. The table is locked. A name has at most 255 bytes,
// so backups of backups end somewhere.
SharedSave find(const SaveTable& table, std::string_view name) {
  if (const auto it = table.saves.find(name); it != table.saves.end()) return it->second;
  const auto backup = as_backup(name);
  if (!backup) return nullptr;
  const SharedSave save = find(table, backup->of);
  if (save == nullptr) return nullptr;
  const std::lock_guard lock(save->mutex);
  return backup->index < save->backups.size() ? save->backups[backup->index] : nullptr;
}

// Takes it out of the table, or out of the backups of its save.
void take_out(SaveTable& table, std::string_view name, const SharedSave& save) {
  if (const auto it = table.saves.find(name); it != table.saves.end()) {
    table.saves.erase(it);
  } else if (const auto backup = as_backup(name)) {
    const SharedSave of = find(table, backup->of);
    const std::lock_guard lock(of->mutex);
    std::erase(of->backups, save);
  }
}

Status check_save_name(std::string_view name) {
  if (Status good = check_name(name); !good) return good.error().with_context("memory:");
  return {};
}

Status check_new_name(const SaveTable& table, std::string_view name) {
  VARVE_TRY(check_save_name(name));
  if (find(table, name) != nullptr) {
    return invalid_argument(
        fmt::format("memory:{} exists already; open it, remove it or choose another name", name));
  }
  if (as_backup(name)) {
    return invalid_argument(fmt::format(
        "memory:{}: names that end in .backup are those of backups; choose another", name));
  }
  return {};
}

Status check_closed(MemorySave& save, std::string_view name) {
  const std::lock_guard lock(save.mutex);
  if (save.is_open) {
    return busy(fmt::format("memory:{} is open in this process; close it first", name));
  }
  return {};
}

}  // namespace

void MemorySave::publish(SharedTables next, std::optional<std::uint32_t> backup_count) {
  // Declared before the lock, and swapped in: what is dropped is freed after the lock is.
  std::vector<SharedSave> rotated;
  const std::lock_guard lock(mutex);
  if (backup_count && *backup_count > 0) {
    const std::size_t kept = std::min<std::size_t>(backups.size(), *backup_count - 1);
    rotated.reserve(kept + 1);
    rotated.push_back(std::make_shared<MemorySave>());
    rotated.front()->newest = newest;
    rotated.insert(rotated.end(), backups.begin(),
                   backups.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  newest.swap(next);
  if (backup_count) backups.swap(rotated);
}

void MemorySave::release() {
  const std::lock_guard lock(mutex);
  is_open = false;
}

bool memory_save_exists(std::string_view name) {
  SaveTable& table = save_table();
  const std::lock_guard lock(table.mutex);
  return find(table, name.substr(0, kNameSizeMax + 1)) != nullptr;
}

Result<SharedSave> open_memory_save(std::string_view name) {
  VARVE_TRY(check_save_name(name));
  SaveTable& table = save_table();
  const std::lock_guard lock(table.mutex);
  SharedSave save = find(table, name);
  if (save == nullptr) return not_found(fmt::format("there is no save memory:{}", name));
  const std::lock_guard save_lock(save->mutex);
  if (save->is_open) {
    return busy(fmt::format("memory:{} is open already in this process; close it first", name));
  }
  save->is_open = true;
  return save;
}

Result<SharedSave> create_memory_save(std::string_view name) {
  SaveTable& table = save_table();
  const std::lock_guard lock(table.mutex);
  VARVE_TRY(check_new_name(table, name));
  auto save = std::make_shared<MemorySave>();
  save->newest = std::make_shared<const RecordTables>();
  save->is_open = true;
  table.saves.emplace(name, save);
  return save;
}

Status rename_memory_save(std::string_view from, std::string_view to) {
  VARVE_TRY(check_save_name(from));
  SaveTable& table = save_table();
  const std::lock_guard lock(table.mutex);
  const SharedSave save = find(table, from);
  if (save == nullptr) return not_found(fmt::format("there is no save memory:{}", from));
  VARVE_TRY(check_closed(*save, from));
  VARVE_TRY(check_new_name(table, to));
  table.saves.emplace(to, save);
  take_out(table, from, save);
  return {};
}

Status remove_memory_save(std::string_view name) {
  VARVE_TRY(check_save_name(name));
  SaveTable& table = save_table();
  SharedSave save;  // freed after the lock is
  const std::lock_guard lock(table.mutex);
  save = find(table, name);
  if (save == nullptr) return {};
  VARVE_TRY(check_closed(*save, name));
  take_out(table, name, save);
  return {};
}

}  // namespace varve
