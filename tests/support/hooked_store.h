// A store that does what a test tells it before it does what it should: waits, fails,
// throws. For tests of what runs on stores.
//
//   StoreControl control;                       // outlives the store
//   auto hooked = hook(std::move(store), control);
//   control.before_commit([&](const Commit&) { gate.wait(); return Status(); });
//
// Thread safety: hooks may be set and counts read at any time from any thread. A hook runs
// on the thread that made the call, and several may run at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "varve/store.h"

namespace varve::test {

class StoreControl {
 public:
  // An error keeps the store from being called and is returned in its place.
  using CommitHook = std::function<Status(const Commit&)>;
  using ResultHook = std::function<void(const Result<CommitStats>&)>;
  using ChunkHook = std::function<Status(const ChunkPos&)>;
  using SeenHook = std::function<void(const ChunkPos&)>;

  // An empty function takes a hook away. Calls that are inside the old one stay there.
  void before_commit(CommitHook hook) { set(before_commit_, std::move(hook)); }
  void after_commit(ResultHook hook) { set(after_commit_, std::move(hook)); }
  void before_read_chunk(ChunkHook hook) { set(before_read_chunk_, std::move(hook)); }
  // The last thing a load of a chunk does: what was read may be old when this returns.
  void after_read_entities_of(SeenHook hook) { set(after_read_entities_of_, std::move(hook)); }
  void before_read_entities_of(ChunkHook hook) { set(before_read_entities_of_, std::move(hook)); }
  void before_quarantine(ChunkHook hook) { set(before_quarantine_, std::move(hook)); }

  // Calls that were made, whatever came of them.
  std::atomic<std::uint64_t> commit_count = 0;
  std::atomic<std::uint64_t> read_chunk_count = 0;
  std::atomic<std::uint64_t> read_entities_of_count = 0;
  std::atomic<std::uint64_t> quarantine_count = 0;
  std::atomic<std::uint64_t> close_count = 0;

 private:
  friend class HookedStore;

  template <class Hook>
  void set(Hook& hook, Hook value) {
    const std::lock_guard lock(mutex_);
    hook = std::move(value);
  }
  template <class Hook>
  Hook get(const Hook& hook) const {
    const std::lock_guard lock(mutex_);
    return hook;
  }

  mutable std::mutex mutex_;
  CommitHook before_commit_;
  ResultHook after_commit_;
  ChunkHook before_read_chunk_;
  SeenHook after_read_entities_of_;
  ChunkHook before_read_entities_of_;
  ChunkHook before_quarantine_;
};

// Pins of the store are not hooked.
std::unique_ptr<Store> hook(std::unique_ptr<Store> store, StoreControl& control);

}  // namespace varve::test
