#include "backend/lmdb/lmdb_error.h"

#include <fmt/format.h>
#include <lmdb.h>

#include <cerrno>

namespace varve::lmdb {
namespace {

ErrorCode code_of(int code) {
  if (is_out_of_space(code)) return ErrorCode::out_of_space;
  switch (code) {
    case MDB_CORRUPTED:
    case MDB_INVALID:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL:
      return ErrorCode::corruption;
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
      return ErrorCode::unsupported;
    case MDB_READERS_FULL:
      return ErrorCode::busy;
    case ENOENT:
      return ErrorCode::not_found;
    default:
      return ErrorCode::io;
  }
}

std::string_view advice(int code) {
  switch (code) {
    case MDB_READERS_FULL:
      return "; let go of snapshots, or open it first with a larger reader_count_max";
    case MDB_PANIC:
      return "; close it everywhere in this process and open it again";
    default:
      return "";
  }
}

}  // namespace

bool is_out_of_space(int code) {
  return code == ENOSPC || code == EDQUOT || code == EFBIG || code == ENOMEM ||
         code == MDB_MAP_FULL || code == MDB_TXN_FULL;
}

Error lmdb_error(int code, std::string_view where) {
  return {code_of(code), fmt::format("{}: LMDB: {}{}", where, mdb_strerror(code), advice(code))};
}

Status lmdb_status(int code, std::string_view where) {
  if (code == MDB_SUCCESS) return {};
  return lmdb_error(code, where);
}

}  // namespace varve::lmdb
