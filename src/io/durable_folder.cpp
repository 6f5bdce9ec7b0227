#include "io/durable_folder.h"

#include <fmt/format.h>

#include "base/try.h"
#include "io/path.h"

namespace varve {

Status make_durable_folder(Vfs& vfs, const std::string& path) {
  VARVE_ASSIGN(const bool is_there, vfs.exists(path));
  if (is_there) return {};
  VARVE_TRY(vfs.create_dir(path));
  Status synced = vfs.sync_dir(path_parent(path));
  if (!synced) (void)vfs.remove_dir(path);
  return synced;
}

Result<std::string> rename_aside(Vfs& vfs, const std::string& path, std::string_view suffix) {
  std::string aside = fmt::format("{}{}", path, suffix);
  for (int number = 2;; ++number) {
    VARVE_ASSIGN(const bool is_taken, vfs.exists(aside));
    if (!is_taken) break;
    aside = fmt::format("{}{}-{}", path, suffix, number);
  }
  VARVE_TRY(vfs.rename(path, aside));
  VARVE_TRY(vfs.sync_dir(path_parent(path)));
  return aside;
}

}  // namespace varve
