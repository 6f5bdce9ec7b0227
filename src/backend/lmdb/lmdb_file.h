// The file data.mdb, as far as it must be looked at before LMDB may: LMDB believes what it reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/vfs.h"
#include "varve/result.h"

namespace varve::lmdb {

inline constexpr std::string_view kDataFile = "data.mdb";
inline constexpr std::string_view kLockFile = "lock.mdb";
// Our own, for the right to write: LMDB would let two processes write in turn.
inline constexpr std::string_view kWriterFile = "writer.lock";
// A file that is being made. It has its name once it is whole.
inline constexpr std::string_view kNewFile = "data.mdb.new";

// Success if the file begins as one of LMDB's does that this build can read. corruption if it does
// not, unsupported for another version; a symbolic link is refused, since LMDB would write
// through it. not_found if there is none. Throws std::bad_alloc.
Status check_file(Vfs& vfs, std::string_view dir);

// Success if neither it nor LMDB's lock is a symbolic link, or anything else that is no plain file;
// also if there is none. Throws std::bad_alloc.
Status check_no_links(std::string_view dir);

// Which file it is, whatever path leads to it.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend auto operator<=>(const FileId&, const FileId&) = default;
};
Result<FileId> file_id(const std::string& path);

}  // namespace varve::lmdb
