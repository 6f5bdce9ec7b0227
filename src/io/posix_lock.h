// The lock that admits one writing process to a save.
#pragma once

#include <memory>
#include <string_view>

#include "io/vfs.h"

namespace varve {

Result<std::unique_ptr<WriterLock>> lock_posix_writer(std::string_view path);

}  // namespace varve
