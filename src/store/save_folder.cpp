#include "store/save_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "io/path.h"

namespace varve {

std::string backup_path(std::string_view save, std::uint32_t number) {
  return number == 1 ? fmt::format("{}.backup", save) : fmt::format("{}.backup.{}", save, number);
}

Result<std::vector<std::uint32_t>> list_backups(Vfs& vfs, const std::string& save) {
  VARVE_ASSIGN(const auto entries, vfs.list(path_parent(save)));
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 1; number <= kBackupCountMax; ++number) {
    const std::string path = backup_path(save, number);
    const std::string_view name = path_name(path);
    const auto it = std::lower_bound(
        entries.begin(), entries.end(), name,
        [](const DirEntry& entry, std::string_view wanted) { return entry.name < wanted; });
    if (it != entries.end() && it->name == name) numbers.push_back(number);
  }
  return numbers;
}

Status remove_if_there(Vfs& vfs, const std::string& path) {
  Status removed = vfs.remove(path);
  if (!removed && removed.error().code() == ErrorCode::not_found) return {};
  return removed;
}

Status remove_tree(Vfs& vfs, const std::string& path, int depth_max) {
  // A listing follows links, and one may lead to somebody's documents. Removing does not: it
  // takes the link, and it fails for what really is a directory.
  const Status removed = remove_if_there(vfs, path);
  if (removed) return removed;
  const auto info = vfs.info(path);
  if (!info || info->kind != FileKind::directory || depth_max < 0) return removed;
  VARVE_ASSIGN(const auto entries, vfs.list(path));
  for (const DirEntry& entry : entries) {
    VARVE_TRY(remove_tree(vfs, path_join(path, entry.name), depth_max - 1));
  }
  return vfs.remove_dir(path);
}

Status rename_durably(Vfs& vfs, const std::string& from, const std::string& to) {
  Status renamed = vfs.rename(from, to);
  // These say that nothing happened, and what is there is somebody else's.
  if (!renamed && (renamed.error().code() == ErrorCode::not_found ||
                   renamed.error().code() == ErrorCode::invalid_argument)) {
    return renamed;
  }
  if (renamed) renamed = vfs.sync_dir(path_parent(to));
  // Nobody knows now which name a crash would leave, and no later sync would settle it.
  // Taken back, it is there to be given again.
  if (!renamed) (void)vfs.rename(to, from);
  return renamed;
}

namespace {

// Everything but the file `kept` and the folders that lead to it.
Status empty_tree(Vfs& vfs, const std::string& path, const std::string& kept) {
  VARVE_ASSIGN(const auto entries, vfs.list(path));
  for (const DirEntry& entry : entries) {
    const std::string inner = path_join(path, entry.name);
    if (inner == kept) continue;
    if (kept.starts_with(inner + '/')) {
      VARVE_TRY(empty_tree(vfs, inner, kept));
    } else {
      VARVE_TRY(remove_tree(vfs, inner));
    }
  }
  return {};
}

}  // namespace

Status remove_leftover(Vfs& vfs, const std::string& path, const std::string& lock_path) {
  // Takes a link or a file, and fails for what really is a directory.
  const Status removed = remove_if_there(vfs, path);
  if (removed) return removed;
  const auto info = vfs.info(path);
  if (!info || info->kind != FileKind::directory) return removed;
  // Held until nothing is left but the lock: somebody who makes the same save at this moment must
  // not find it free, and then lose what he wrote. A call that did not get as far as the lock's
  // folder cannot be told from one that is about to, so the folder is made for it.
  VARVE_TRY(vfs.create_dir(path_parent(lock_path)));
  VARVE_ASSIGN(const auto lock, vfs.lock_writer(lock_path));
  // It may have had a better name, and a crash could give it that again.
  VARVE_TRY(vfs.sync_dir(path_parent(path)));
  VARVE_TRY(empty_tree(vfs, path, lock_path));
  VARVE_TRY(remove_if_there(vfs, lock_path));
  // From here on it may be somebody else's, whose files keep the folders from being removed.
  for (std::string folder(path_parent(lock_path)); folder != path; folder = path_parent(folder)) {
    VARVE_TRY(vfs.remove_dir(folder));
  }
  return vfs.remove_dir(path);
}

Status remove_folder_save(Vfs& vfs, const std::string& path, const std::string& lock_path) {
  const std::string going = path + std::string(kRemovingSuffix);
  VARVE_TRY(remove_leftover(vfs, going, lock_path));
  VARVE_TRY(rename_durably(vfs, path, going));
  return remove_tree(vfs, going);
}

}  // namespace varve
