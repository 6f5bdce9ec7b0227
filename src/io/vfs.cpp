#include "io/vfs.h"

namespace varve {

Result<bool> Vfs::exists(std::string_view path) {
  const auto found = info(path);
  if (found) return true;
  if (found.error().code() == ErrorCode::not_found) return false;
  return found.error();
}

}  // namespace varve
