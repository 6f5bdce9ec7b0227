// What tests of streaming share: everything update() ever reported, and small makers.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "world/sample_world.h"

namespace varve::test {

// Nothing is saved unless the test or what it tests asks for it.
inline WorldOptions quiet_options() {
  return {.autosave = AutosaveConfig{.enabled = false, .retry_s = 5}, .load_thread_count = 1};
}

inline StoreControl::CommitHook failing_commits() {
  return [](const Commit&) -> Status { return out_of_space("the disk is full"); };
}

inline Bytes text(std::string_view contents) { return Bytes::copy_of(contents); }

inline std::unique_ptr<Chunk> flat_chunk(std::uint8_t fill) {
  Buffer contents(kFlatChunkSize);
  std::memset(contents.data(), fill, contents.size());
  return std::make_unique<RawChunk>(std::move(contents).freeze());
}

// Calls update() and keeps what it said.
struct StreamWatch {
  explicit StreamWatch(FlatWorld& of) : flat(of) {}

  void update(double dt_s = 0) {
    const UpdateReport& report = flat.world->update(dt_s);
    loaded.insert(loaded.end(), report.loaded.begin(), report.loaded.end());
    failed.insert(failed.end(), report.failed.begin(), report.failed.end());
    evicted.insert(evicted.end(), report.evicted.begin(), report.evicted.end());
  }
  template <class Fn>
  void update_until(const Fn& done) {
    while (!done()) {
      update();
      std::this_thread::yield();
    }
  }
  // Until no load is under way.
  void settle_loads() {
    update_until([&] { return flat.world->telemetry().loads_in_flight == 0; });
  }
  void update_until_absent(const ChunkPos& pos) {
    update_until([&] { return flat.world->state(pos) == ChunkState::absent; });
  }
  bool has_loaded(const ChunkPos& pos) const { return contains(loaded, pos); }
  bool has_evicted(const ChunkPos& pos) const { return contains(evicted, pos); }

  static bool contains(const std::vector<ChunkPos>& list, const ChunkPos& pos) {
    return std::find(list.begin(), list.end(), pos) != list.end();
  }

  FlatWorld& flat;
  std::vector<ChunkPos> loaded;
  std::vector<UpdateReport::Failure> failed;
  std::vector<ChunkPos> evicted;
};

}  // namespace varve::test
