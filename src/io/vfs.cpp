#include "io/vfs.h"

namespace varve {

Result<bool> Vfs::exists(std::string_view path) {
  const auto found = info(path);
  if (found) return true;
  if (found.error().code() == ErrorCode::not_found) return false;
  return found.error();
}

Result<std::unique_ptr<NoWriterLock>> Vfs::lock_writers_out(std::string_view path) {
  return unsupported(std::string(path) + ": this disk cannot keep writers out");
}

}  // namespace varve
