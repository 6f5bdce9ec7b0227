// Folders whose names are there after a crash.
#pragma once

#include <string>

#include "io/vfs.h"

namespace varve {

// Makes the folder unless it is there. One whose name is not durable when this returns an error is
// made anew the next time: a sync that failed is no good a second time.
Status make_durable_folder(Vfs& vfs, const std::string& path);

}  // namespace varve
