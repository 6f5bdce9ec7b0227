#include "io/durable_folder.h"

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

}  // namespace varve
