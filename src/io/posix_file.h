// A file of the operating system. Only PosixVfs makes these.
#pragma once

#include <memory>
#include <string_view>

#include "io/file.h"
#include "io/vfs.h"

namespace varve {

Result<std::unique_ptr<File>> open_posix_file(std::string_view path, OpenMode mode);

// Syncs a directory, which makes the names in it durable. It lives beside the
// files' sync so that the call stands in one place.
Status sync_posix_dir(std::string_view path);

}  // namespace varve
