// Replacing a whole file so that a crash leaves the old or the new contents.
#pragma once

#include <string>
#include <string_view>

#include "io/vfs.h"

namespace varve {

// The name the new contents have until they are durable. One left behind by a
// crash holds nothing anybody was promised and may be removed.
std::string atomic_replace_temporary(std::string_view path);

// Writes `contents` to a temporary beside `path`, syncs it, renames it over `path`
// and syncs the directory. On success the new contents are durable. If writing or
// syncing the temporary fails, the old file is untouched and the temporary is
// removed if that is still possible; if the rename or the last sync fails, a crash may leave
// either.
Status atomic_replace(Vfs& vfs, std::string_view path, ByteView contents);

// The two halves of it, for who can go on without the second. A failure of the first leaves
// the file that is there as it is.
Status write_replacement(Vfs& vfs, std::string_view path, ByteView contents);
Status install_replacement(Vfs& vfs, std::string_view path);

}  // namespace varve
