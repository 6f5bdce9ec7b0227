#include "backend/lmdb/lmdb_traits.h"

#include "base/try.h"

namespace varve::lmdb {

BackendTraits lmdb_backend_traits() {
  BackendTraits traits;
  traits.name = "lmdb";
  traits.value_size_max = (1u << 30) - 1;
  traits.batch_size_max = std::uint64_t{1} << 31;
  traits.checks_values = true;
  return traits;
}

Result<BackendStats> stats_at(Vfs& vfs, const ReadTxn& txn) {
  BackendStats stats;
  VARVE_ASSIGN(const Head head, read_head(txn));
  VARVE_ASSIGN(stats.entry_count, read_entry_count(txn));
  VARVE_ASSIGN(const FileInfo info, vfs.info(txn.environment().path()));
  stats.live_size = head.live_size;
  stats.stored_size = info.size;
  stats.sequence = head.sequence;
  return stats;
}

std::vector<Result<std::optional<Bytes>>> all_failed(std::size_t count, const Error& why) {
  try {
    return std::vector<Result<std::optional<Bytes>>>(count, why);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace varve::lmdb
