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

std::string SaveBackups::path(std::uint32_t number) const { return backup_path(root_, number); }
std::string SaveBackups::rotating_path() const { return backup_path(root_, 1) + ".rotating"; }

Status SaveBackups::finish_rotation() {
  VARVE_ASSIGN(const bool is_rotating, disk_.vfs().exists(rotating_path()));
  if (!is_rotating) return {};
  VARVE_ASSIGN(const auto numbers, list_backups(disk_.vfs(), root_));
  for (std::uint32_t number = first_free(numbers); number > 1; --number) {
    VARVE_TRY(rename_durably(disk_.vfs(), path(number - 1), path(number)));
  }
  return rename_durably(disk_.vfs(), rotating_path(), path(1));
}

Status SaveBackups::move_to_front(std::uint32_t number) {
  if (number == 1) return {};
  VARVE_TRY(rename_durably(disk_.vfs(), path(number), rotating_path()));
  return finish_rotation();
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

Status SaveBackups::keep(const BackupSource& source, std::uint32_t count) {
  count = std::min(count, kBackupCountMax);
  has_none_ = false;
  VARVE_TRY(finish_rotation());
  VARVE_ASSIGN(std::vector<std::uint32_t> numbers, list_backups(disk_.vfs(), root_));
  while (!numbers.empty() && numbers.back() > count) {
    VARVE_TRY(disk_.saves().remove(path(numbers.back())));
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
  if (!kept && kept.error().code() == ErrorCode::invalid_argument) {
    // Somebody played on in it, so that it is no older state of this save any more.
    VARVE_TRY(disk_.saves().remove(path(number)));
    kept = back_up(source, path(number), {}, progress, disk_);
  }
  if (!kept) return kept.error();
  return move_to_front(number);
}

}  // namespace varve
