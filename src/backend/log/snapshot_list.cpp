#include "backend/log/snapshot_list.h"

#include <iterator>

namespace varve::log {

SnapshotList::Handle SnapshotList::hold(std::uint64_t sequence) {
  return held_.insert(held_.end(), Held{sequence, {}});
}

void SnapshotList::release(Handle held) {
  // Older ones look through this one, so the next older takes over what it lacks. Nodes are
  // moved: this cannot fail.
  if (held != held_.begin()) std::prev(held)->before.merge(held->before);
  held_.erase(held);
}

void SnapshotList::note(ByteView key, const std::optional<Location>& place) {
  if (held_.empty()) return;
  Places& places = held_.back().before;
  if (places.find(as_text(key)) == places.end()) places.emplace(as_text(key), place);
}

std::optional<std::optional<Location>> SnapshotList::find(Handle held, ByteView key) const {
  for (auto it = std::list<Held>::const_iterator(held); it != held_.end(); ++it) {
    if (const auto found = it->before.find(as_text(key)); found != it->before.end()) {
      return found->second;
    }
  }
  return std::nullopt;
}

SnapshotList::Places SnapshotList::changed_since(Handle held, std::string_view from,
                                                 const std::optional<std::string>& end) const {
  Places changed;
  for (auto it = std::list<Held>::const_iterator(held); it != held_.end(); ++it) {
    for (auto place = it->before.lower_bound(from); place != it->before.end(); ++place) {
      if (end && place->first >= *end) break;
      changed.insert(*place);  // The earliest one stays.
    }
  }
  return changed;
}

}  // namespace varve::log
