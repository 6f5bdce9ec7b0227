#include "store/varve/save_backups.h"

#include <algorithm>

#include "base/try.h"
#include "io/path.h"
#include "store/save_folder.h"
#include "store/varve/backup_copy.h"

namespace varve {
namespace {

bool has(const std::vector<std::uint32_t>& numbers, std::uint32_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

std::uint32_t first_free(const std::vector<std::uint32_t>& numbers) {
  std::uint32_t number = 1;
  while (has(numbers, number)) ++number;
  return number;
}

}  // namespace

std::string rotating_backup_path(const std::string& root) {
  return backup_path(root, 1) + ".rotating";
}

Status finish_backup_rotation(Vfs& vfs, const std::string& root) {
  const std::string rotating = rotating_backup_path(root);
  VARVE_ASSIGN(const bool is_rotating, vfs.exists(rotating));
  if (!is_rotating) return {};
  VARVE_ASSIGN(const auto numbers, list_backups(vfs, root));
  for (std::uint32_t number = first_free(numbers); number > 1; --number) {
    VARVE_TRY(rename_durably(vfs, backup_path(root, number - 1), backup_path(root, number)));
  }
  return rename_durably(vfs, rotating, backup_path(root, 1));
}

std::string SaveBackups::path(std::uint32_t number) const { return backup_path(root_, number); }

Status SaveBackups::move_to_front(std::uint32_t number) {
  if (number == 1) return {};
  VARVE_TRY(rename_durably(disk_.vfs(), path(number), rotating_backup_path(root_)));
  return finish_backup_rotation(disk_.vfs(), root_);
}

Result<bool> SaveBackups::is_newest(const BackupSource& source) const {
  const auto newest = disk_.saves().open_to_read(path(1));
  // Whatever it is, the rotation finds out.
  if (!newest) return false;
  const auto* varve = dynamic_cast<const VarveStore*>(newest->get());
  if (varve == nullptr) return false;
  VARVE_ASSIGN(const auto view, varve->pin_view());
  if (!is_same_state(view->header(), source.view->header())) return false;
  // A save that was put back to an older state comes by the same numbers again.
  Progress progress;
  return BackupCopy(source, {}, disk_.limits(), progress).is_same(view->snapshot());
}

bool SaveBackups::is_foreign(std::uint32_t number, const BackupSource& source) const {
  const auto id = read_save_id(disk_.saves(), path(number));
  return id && *id != source.view->header().save_id;
}

Status SaveBackups::trim(std::vector<std::uint32_t> numbers, std::uint32_t count,
                         const BackupSource& source) {
  for (; !numbers.empty() && numbers.back() > count; numbers.pop_back()) {
    if (is_foreign(numbers.back(), source)) continue;
    VARVE_TRY(disk_.saves().remove(path(numbers.back())));
  }
  return {};
}

Status SaveBackups::keep(const BackupSource& source, std::uint32_t count) {
  count = std::min(count, kBackupCountMax);
  has_none_ = false;
  // They may have what the save has lost.
  if (source.loss) return source.loss->with_context("all backups stay as they are");
  VARVE_TRY(finish_backup_rotation(disk_.vfs(), root_));
  VARVE_ASSIGN(const std::vector<std::uint32_t> numbers, list_backups(disk_.vfs(), root_));
  if (count == 0) {
    VARVE_TRY(trim(numbers, 0, source));
    has_none_ = true;
    return {};
  }
  // A commit that failed after its backup was made tries again. If its process died, the name of
  // that backup may not be durable yet.
  VARVE_ASSIGN(const bool is_there, is_newest(source));
  if (is_there) {
    VARVE_TRY(disk_.vfs().sync_dir(path_parent(root_)));
    return trim(numbers, count, source);
  }
  // The oldest one, if there are enough: nothing goes before there is something newer in its place.
  const std::uint32_t number = numbers.size() >= count ? numbers.back() : first_free(numbers);
  Progress progress;
  const auto kept = back_up(source, path(number), {}, progress, disk_, NewerTarget::replace);
  if (!kept) return kept.error();
  VARVE_TRY(move_to_front(number));
  VARVE_ASSIGN(const std::vector<std::uint32_t> after, list_backups(disk_.vfs(), root_));
  return trim(after, count, source);
}

}  // namespace varve
