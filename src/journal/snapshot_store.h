// A journal's snapshots and tables in a backend. Keys are big-endian, so that they sort:
//
//   01                       what this is: u8 version
//   02                       which component has which id (ComponentNames)
//   03 u64 tick              a snapshot there is: u64 size, u64 created at (ms since 1970), u32
//   pieces 04 u64 tick, u32 number  a piece of one 05                       u64: the log was cut;
//   before this snapshot's tick only snapshots are left
//   06 u64 tick              an index of history (history_index.h), which is none of its business
//
// Invariants:
// 1. A snapshot is there when its entry 03 is, which is written with its last piece or after it.
// 2. Pieces without an entry are left of something that was cut short, and go when it is opened.
//
// Thread safety: any thread; but of one tick's snapshot one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "varve/backend.h"
#include "varve/components.h"
#include "varve/entity_state.h"
#include "varve/storage_engine.h"

namespace varve::journal {

class SnapshotStore {
 public:
  // What is in the backend, or a new one if there is nothing. unsupported if a newer program wrote
  // it.
  static Result<std::unique_ptr<SnapshotStore>> open(std::unique_ptr<Backend> backend);

  Result<ComponentNames> names() const;
  Status put_names(const ComponentNames& names);

  // The tick of the snapshot the log goes on from; nullopt if it has its beginning.
  Result<std::optional<std::uint64_t>> log_base() const;
  Status set_log_base(std::uint64_t tick);

  // By rising tick.
  Result<std::vector<SnapshotMeta>> list() const;
  // Durable when it returns. One of that tick is replaced.
  Result<SnapshotMeta> put(std::uint64_t tick, const Bytes& snapshot,
                           std::chrono::system_clock::time_point created_at);
  // corruption if it is not as it was put.
  Result<Snapshot> get(std::uint64_t tick) const;
  Status erase(std::uint64_t tick);

  const Backend& backend() const noexcept { return *backend_; }
  // For the index of history, whose keys begin with 06.
  Backend& backend() noexcept { return *backend_; }
  Status close() { return backend_->close(); }

 private:
  explicit SnapshotStore(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  Status write(const WriteBatch& batch);
  Status remove_orphans();

  std::unique_ptr<Backend> backend_;
};

}  // namespace varve::journal
