#include "store/varve/save_backups.h"

#include <algorithm>

#include "base/try.h"
#include "io/path.h"
#include "store/save_folder.h"

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
  return is_same_state(view->header(), source.view->header());
}

bool SaveBackups::is_foreign(std::uint32_t number, const BackupSource& source) const {
  const auto backup = disk_.saves().open_to_read(path(number));
  if (!backup) return false;
  const auto* varve = dynamic_cast<const VarveStore*>(backup->get());
  const auto view = varve != nullptr ? varve->pin_view() : not_found("no varve save");
  return view && (*view)->header().save_id != source.view->header().save_id;
}

Status SaveBackups::keep(const BackupSource& source, std::uint32_t count) {
  count = std::min(count, kBackupCountMax);
  has_none_ = false;
  VARVE_TRY(finish_backup_rotation(disk_.vfs(), root_));
  VARVE_ASSIGN(std::vector<std::uint32_t> numbers, list_backups(disk_.vfs(), root_));
  while (!numbers.empty() && numbers.back() > count) {
    if (!is_foreign(numbers.back(), source)) {
      VARVE_TRY(disk_.saves().remove(path(numbers.back())));
    }
    numbers.pop_back();
  }
  if (count == 0) {
    has_none_ = true;
    return {};
  }
  // A commit that failed after its backup was made tries again. If its process died, the name of
  // that backup may not be durable yet.
  VARVE_ASSIGN(const bool is_there, is_newest(source));
  if (is_there) return disk_.vfs().sync_dir(path_parent(root_));
  const std::uint32_t number = has(numbers, count) ? count : first_free(numbers);
  Progress progress;
  auto kept = back_up(source, path(number), {}, progress, disk_);
  if (!kept && kept.error().code() == ErrorCode::invalid_argument && !is_foreign(number, source)) {
    // Somebody played on in it, so that it is no older state of this save any more.
    VARVE_TRY(disk_.saves().remove(path(number)));
    kept = back_up(source, path(number), {}, progress, disk_);
  }
  if (!kept) return kept.error();
  return move_to_front(number);
}

}  // namespace varve
