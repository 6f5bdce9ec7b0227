#include "io/atomic_replace.h"

#include "base/try.h"
#include "io/path.h"

namespace varve {
namespace {

// A file nobody else can have prepared: what a crash left under the name, or a link
// somebody put there, is removed and never written through.
Result<std::unique_ptr<File>> create_anew(Vfs& vfs, std::string_view path) {
  auto file = vfs.open(path, OpenMode::create_new);
  if (file || file.error().code() != ErrorCode::invalid_argument) return file;
  VARVE_TRY(vfs.remove(path));
  return vfs.open(path, OpenMode::create_new);
}

Status write_durably(Vfs& vfs, std::string_view path, ByteView contents) {
  VARVE_ASSIGN(const auto file, create_anew(vfs, path));
  VARVE_TRY(file->write_at(0, contents));
  VARVE_TRY(file->sync_data());
  return file->close();
}

}  // namespace

std::string atomic_replace_temporary(std::string_view path) {
  // Appended, never a replaced extension: "my.world" and "my.backup" stay apart.
  return std::string(path) + ".tmp";
}

Status write_replacement(Vfs& vfs, std::string_view path, ByteView contents) {
  const std::string temporary = atomic_replace_temporary(path);
  Status written = write_durably(vfs, temporary, contents);
  // The first failure is the one to report; a temporary that stays is harmless.
  if (!written) (void)vfs.remove(temporary);
  return written;
}

Status install_replacement(Vfs& vfs, std::string_view path) {
  VARVE_TRY(vfs.rename(atomic_replace_temporary(path), path));
  return vfs.sync_dir(path_parent(path));
}

Status atomic_replace(Vfs& vfs, std::string_view path, ByteView contents) {
  VARVE_TRY(write_replacement(vfs, path, contents));
  // From here on a failure leaves the outcome open, so both files are kept.
  return install_replacement(vfs, path);
}

}  // namespace varve
