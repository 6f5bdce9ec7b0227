// Writes batches into an LMDB file, each in one transaction.
//
// Thread safety: all calls may be made from any thread; batches queue up.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "backend/lmdb/lmdb_environment.h"
#include "backend/lmdb/lmdb_records.h"
#include "io/vfs.h"
#include "varve/backend.h"

namespace varve::lmdb {

class Writer {
 public:
  // `environment` outlives it.
  Writer(Vfs& vfs, Environment& environment, Durability durability);

  // Makes durable what was found, and leaves no trace of a write that failed before.
  Status start();
  // `batch` was checked. Throws std::bad_alloc.
  WriteResult write(const WriteBatch& batch);
  Status sync();
  // Of the last batch no crash can take.
  std::uint64_t durable_sequence() const noexcept { return durable_sequence_; }

 private:
  struct Attempt;
  Status check_latch() const;
  Attempt try_write(const WriteBatch& batch);
  Status make_room(int code, const WriteBatch& batch);
  WriteResult failed_commit(int code, const WriteBatch& batch);
  Error latch(int code);
  bool has_panicked() const;
  bool is_disk_full(const WriteBatch& batch) const;
  void keep_length();

  Vfs& vfs_;
  Environment& environment_;
  const bool syncs_head_;
  std::unique_ptr<File> file_;  // for its length alone
  std::mutex mutex_;            // held through a batch
  int latched_code_ = 0;        // LMDB's, after which nothing is written any more
  std::uint64_t sequence_ = 0;
  std::atomic<std::uint64_t> durable_sequence_ = 0;
};

}  // namespace varve::lmdb
