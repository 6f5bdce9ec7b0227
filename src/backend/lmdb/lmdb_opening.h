// Making and opening LMDB files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/lmdb/lmdb_environment.h"
#include "io/vfs.h"
#include "varve/backend.h"

namespace varve::lmdb {

// Makes a file with nothing in it, durably. The caller has the right to write.
Status create_file(Vfs& vfs, const std::string& dir);

// One opening of a file. LMDB must not have a file open twice in one process: closing one would
// let go of the other's locks and readers. So openings of one file share one environment, and the
// last one closes it.
class Opening {
 public:
  // busy if it is to write and the process has it open in a form that cannot.
  static Result<std::shared_ptr<Opening>> open(Vfs& vfs, const std::string& dir, bool writes,
                                               const LmdbBackendOptions& options);
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  Environment& environment() const noexcept { return *environment_; }

 private:
  Opening() = default;

  Environment* environment_ = nullptr;
};

}  // namespace varve::lmdb
