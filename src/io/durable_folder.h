// Folders whose names are there after a crash.
#pragma once

#include <string>
#include <string_view>

#include "io/vfs.h"

namespace varve {

// Makes the folder unless it is there. One whose name is not durable when this returns an error is
// made anew the next time: a sync that failed is no good a second time.
Status make_durable_folder(Vfs& vfs, const std::string& path);

// Gives it the first free name of path + suffix, path + suffix + "-2" and so on, durably, and
// returns that. For what must be out of the way and is not ours to remove.
Result<std::string> rename_aside(Vfs& vfs, const std::string& path, std::string_view suffix);

}  // namespace varve
