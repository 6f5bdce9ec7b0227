// The file backend on any disk.
#pragma once

#include <memory>
#include <string_view>

#include "backend/log/log_options.h"
#include "io/vfs.h"
#include "varve/backend.h"

namespace varve::log {

Result<std::unique_ptr<Backend>> open_log(Vfs& vfs, std::string_view dir, LogOptions options);
Result<std::unique_ptr<Backend>> open_log_to_read(Vfs& vfs, std::string_view dir,
                                                  LogOptions options);

}  // namespace varve::log
