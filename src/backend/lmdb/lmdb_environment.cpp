#include "backend/lmdb/lmdb_environment.h"

#include <fmt/format.h>
#include <lmdb.h>

#include <algorithm>
#include <limits>

#include "backend/lmdb/lmdb_error.h"
#include "backend/lmdb/lmdb_reads.h"
#include "backend/lmdb/lmdb_records.h"
#include "base/try.h"

namespace varve::lmdb {
namespace {

// Each idle one has a place in the list of readers, of which there are not many.
constexpr std::size_t kIdleCountMax = 16;
constexpr std::uint64_t kMapUnit = 65536;

}  // namespace

ReadTxn::~ReadTxn() {
  if (txn_ != nullptr) environment_->end_read(txn_, kind_);
}

Environment::~Environment() {
  for (MDB_txn* const txn : idle_) mdb_txn_abort(txn);
  mdb_env_close(handle_);
}

Status Environment::open_tables() {
  idle_.reserve(kIdleCountMax);
  MDB_txn* txn = nullptr;
  VARVE_TRY(lmdb_status(mdb_txn_begin(handle_, nullptr, MDB_RDONLY, &txn), path_));
  int code = mdb_dbi_open(txn, std::string(kDataName).c_str(), 0, &data_table_);
  if (code == MDB_SUCCESS)
    code = mdb_dbi_open(txn, std::string(kMetaName).c_str(), 0, &meta_table_);
  if (code != MDB_SUCCESS) {
    mdb_txn_abort(txn);
    if (code != MDB_NOTFOUND) return lmdb_error(code, path_);
    return unsupported(fmt::format("{}: an LMDB file that Varve did not write", path_));
  }
  // Only a commit keeps the handles of the tables.
  VARVE_TRY(lmdb_status(mdb_txn_commit(txn), path_));
  VARVE_ASSIGN(const ReadTxn read, begin_read(ReadKind::brief));
  VARVE_TRY(read_head(read));
  return {};
}

Result<std::uint64_t> Environment::claimed_size() const {
  MDB_envinfo info;
  MDB_stat stat;
  VARVE_TRY(lmdb_status(mdb_env_info(handle_, &info), path_));
  VARVE_TRY(lmdb_status(mdb_env_stat(handle_, &stat), path_));
  if (info.me_last_pgno >= std::numeric_limits<std::int64_t>::max() / stat.ms_psize) {
    return corruption(fmt::format("{}: its head claims {} pages", path_, info.me_last_pgno));
  }
  return (info.me_last_pgno + 1) * stat.ms_psize;
}

// MDB_NOTLS was said, so that transactions belong to nobody's thread.
int Environment::begin(MDB_txn*& txn) {
  if (txn == nullptr) return mdb_txn_begin(handle_, nullptr, MDB_RDONLY, &txn);
  const int code = mdb_txn_renew(txn);
  if (code != MDB_SUCCESS) mdb_txn_abort(std::exchange(txn, nullptr));
  return code;
}

Result<ReadTxn> Environment::begin_read(ReadKind kind) {
  for (bool is_retried = false;; is_retried = true) {
    MDB_txn* txn = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !is_growing_; });
      if (is_map_lost_) break;
      ++(kind == ReadKind::brief ? brief_count_ : held_count_);
      if (!idle_.empty()) {
        txn = idle_.back();
        idle_.pop_back();
      }
    }
    const int code = begin(txn);
    if (code == MDB_SUCCESS) return ReadTxn(*this, txn, kind);
    count_down(kind);
    if (is_retried) return lmdb_error(code, path_);
    if (code == MDB_MAP_RESIZED) {
      VARVE_TRY(follow_growth());
    } else if (code == MDB_READERS_FULL) {
      // Those whose processes were killed.
      int dead_count = 0;
      VARVE_TRY(lmdb_status(mdb_reader_check(handle_, &dead_count), path_));
    } else {
      return lmdb_error(code, path_);
    }
  }
  VARVE_TRY(check_map());
  return io_error(path_);
}

std::uint32_t Environment::held_count() const {
  const std::lock_guard lock(mutex_);
  return held_count_;
}

void Environment::end_read(MDB_txn* txn, ReadKind kind) noexcept {
  mdb_txn_reset(txn);
  {
    const std::lock_guard lock(mutex_);
    // There is room for them from the start.
    if (idle_.size() < kIdleCountMax) idle_.push_back(std::exchange(txn, nullptr));
  }
  if (txn != nullptr) mdb_txn_abort(txn);
  count_down(kind);
}

void Environment::count_down(ReadKind kind) noexcept {
  const std::lock_guard lock(mutex_);
  --(kind == ReadKind::brief ? brief_count_ : held_count_);
  if (is_growing_) changed_.notify_all();
}

Status Environment::grow(std::uint64_t size_added) {
  std::uint64_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t wanted = map_size_ + std::max(map_size_, size_added);
    size = (wanted + kMapUnit - 1) / kMapUnit * kMapUnit;
  }
  return set_map_size(size);
}

Status Environment::follow_growth() { return set_map_size(0); }

Status Environment::check_map() const {
  const std::lock_guard lock(mutex_);
  if (!is_map_lost_) return {};
  return out_of_space(fmt::format(
      "{}: no address space was left when the file grew; close it and open it again", path_));
}

Status Environment::set_map_size(std::uint64_t size) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_growing_; });
  if (held_count_ > 0) {
    return busy(fmt::format(
        "{}: it has outgrown its map of {} bytes, which cannot move while {} snapshots or readers "
        "of this process are held; let them go, or open it with a larger map_size",
        path_, map_size_, held_count_));
  }
  is_growing_ = true;
  changed_.wait(lock, [&] { return brief_count_ == 0; });
  for (MDB_txn* const txn : idle_) mdb_txn_abort(txn);
  idle_.clear();
  const int code = mdb_env_set_mapsize(handle_, size);
  MDB_envinfo info = {};
  if (code == MDB_SUCCESS && mdb_env_info(handle_, &info) == MDB_SUCCESS) {
    map_size_ = info.me_mapsize;
  }
  // LMDB has given up the old map by then, and would read where it was.
  is_map_lost_ = code != MDB_SUCCESS && code != EINVAL;
  is_growing_ = false;
  changed_.notify_all();
  return lmdb_status(code, path_);
}

}  // namespace varve::lmdb
