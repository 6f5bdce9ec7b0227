// The LMDB backend of a build without LMDB.
#include "base/guarded.h"
#include "varve/backend.h"

namespace varve {
namespace {

Result<std::unique_ptr<Backend>> refuse() {
  return or_out_of_memory([]() -> Result<std::unique_ptr<Backend>> {
    return unsupported(
        "this build of Varve has no LMDB backend; install LMDB (Debian: liblmdb-dev) and build "
        "Varve with VARVE_LMDB=ON, or use the file backend");
  });
}

}  // namespace

bool has_lmdb_backend() { return false; }

Result<std::unique_ptr<Backend>> open_lmdb_backend(std::string_view, const LmdbBackendOptions&) {
  return refuse();
}

Result<std::unique_ptr<Backend>> open_lmdb_backend_to_read(std::string_view,
                                                           const LmdbBackendOptions&) {
  return refuse();
}

}  // namespace varve
