// What LMDB's return codes mean to our callers.
#pragma once

#include <string_view>

#include "varve/result.h"

namespace varve::lmdb {

// "where: LMDB: what it says". Throws std::bad_alloc.
Error lmdb_error(int code, std::string_view where);

// Success for 0.
Status lmdb_status(int code, std::string_view where);

// Whether there was no room: on the disk, in a quota, in memory.
bool is_out_of_space(int code);

}  // namespace varve::lmdb
