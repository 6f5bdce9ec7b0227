// What held snapshots still see of what was changed since.
//
// The index knows the newest state only. While a snapshot is held, the place a key had before its
// first change is kept beside the newest snapshot. A snapshot sees the first place that was kept in
// it or in a later one, and what the index says where there is none.
//
// Not thread-safe: it belongs to a LogState.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "backend/log/index.h"

namespace varve::log {

class SnapshotList {
 public:
  using Places = std::map<std::string, std::optional<Location>, std::less<>>;
  struct Held {
    std::uint64_t sequence = 0;
    Places before;  // nullopt: the key was not there
  };
  using Handle = std::list<Held>::iterator;

  bool empty() const noexcept { return held_.empty(); }
  // Oldest first.
  const std::list<Held>& all() const noexcept { return held_; }

  Handle hold(std::uint64_t sequence);
  void release(Handle held);

  // `key` is about to change; `place` is where it lies until then.
  void note(ByteView key, const std::optional<Location>& place);

  // Where `key` lay, if it has changed since.
  std::optional<std::optional<Location>> find(Handle held, ByteView key) const;
  // All that changed since with keys not below `from` and below `end` (where it is set).
  Places changed_since(Handle held, std::string_view from,
                       const std::optional<std::string>& end) const;

 private:
  std::list<Held> held_;  // oldest first
};

}  // namespace varve::log
