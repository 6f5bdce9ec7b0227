// An LMDB environment that is open, its transactions and its map.
//
// The map is where the file appears in memory. LMDB moves it when it grows, and must have no
// transaction in this process meanwhile. So every one is counted here: growing waits for those that
// only serve one call, and is refused while one is held, since nobody knows for how long.
//
// Thread safety: all calls may be made from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "varve/result.h"

struct MDB_env;
struct MDB_txn;

namespace varve::lmdb {

class Environment;

enum class ReadKind : std::uint8_t {
  brief,  // ends with the call it serves
  held,   // as long as somebody likes
};

// One moment of the file. One thread at a time uses it.
class ReadTxn {
 public:
  ReadTxn(Environment& environment, MDB_txn* txn, ReadKind kind)
      : environment_(&environment), txn_(txn), kind_(kind) {}
  ReadTxn(ReadTxn&& other) noexcept
      : environment_(other.environment_),
        txn_(std::exchange(other.txn_, nullptr)),
        kind_(other.kind_) {}
  ReadTxn& operator=(ReadTxn&&) = delete;
  ~ReadTxn();

  MDB_txn* get() const noexcept { return txn_; }
  const Environment& environment() const noexcept { return *environment_; }

 private:
  Environment* environment_;
  MDB_txn* txn_;
  ReadKind kind_;
};

class Environment {
 public:
  // Takes over an environment that is open but for its tables.
  Environment(MDB_env* handle, std::string path, bool writes, std::uint64_t map_size)
      : handle_(handle), path_(std::move(path)), writes_(writes), map_size_(map_size) {}
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Once, before anything is read. A file that is LMDB's but not ours is unsupported.
  Status open_tables();

  MDB_env* handle() const noexcept { return handle_; }
  unsigned data_table() const noexcept { return data_table_; }
  unsigned meta_table() const noexcept { return meta_table_; }
  // Of the file.
  const std::string& path() const noexcept { return path_; }
  // False: opened so that it cannot write.
  bool writes() const noexcept { return writes_; }

  // The size the file has by its own account. corruption if that is no size.
  Result<std::uint64_t> claimed_size() const;

  Result<ReadTxn> begin_read(ReadKind kind);
  // How many are held now.
  std::uint32_t held_count() const;

  // Makes the map larger, by `size_added` at least. busy while a transaction is held. The caller
  // has none.
  Status grow(std::uint64_t size_added);
  // Makes the map as large as another process has made it. As grow().
  Status follow_growth();
  // What everything is refused with once the map is lost.
  Status check_map() const;

 private:
  friend class ReadTxn;

  int begin(MDB_txn*& txn);
  void end_read(MDB_txn* txn, ReadKind kind) noexcept;
  void count_down(ReadKind kind) noexcept;
  Status set_map_size(std::uint64_t size);

  MDB_env* const handle_;
  const std::string path_;
  const bool writes_;
  unsigned data_table_ = 0;
  unsigned meta_table_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<MDB_txn*> idle_;  // at no moment; renewing one is cheaper than beginning one
  std::uint32_t brief_count_ = 0;
  std::uint32_t held_count_ = 0;
  bool is_growing_ = false;
  bool is_map_lost_ = false;
  std::uint64_t map_size_;
};

}  // namespace varve::lmdb
