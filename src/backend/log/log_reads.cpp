// The half of LogState that reads.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "backend/batch_check.h"
#include "backend/log/batch_reader.h"
#include "backend/log/log_state.h"
#include "backend/range_bounds.h"
#include "base/byte_writer.h"
#include "base/guarded.h"
#include "base/try.h"

namespace varve::log {
namespace {

// Who asks for one value reads it at once, and a map brings nothing into the cache by itself. The
// processor sees what comes next only some lines into each page.
constexpr std::size_t kPrefetchSizeMax = 16384;

void prefetch(ByteView value) noexcept {
  constexpr std::size_t kLineSize = 64;
  const std::size_t size = std::min(value.size(), kPrefetchSizeMax);
  for (std::size_t offset = 0; offset < size; offset += kLineSize) {
    __builtin_prefetch(value.data() + offset);
  }
}

// How many entries are taken from the index under one lock. A page of a snapshot is put together
// from as many looks as it takes: what it has may be gone from the index, and a page is never empty
// before the end.
constexpr std::size_t kLookCount = 1024;

}  // namespace

std::optional<Location> LogState::locate(ByteView key, const At& at) const {
  if (at) {
    if (const auto before = snapshots_.find(*at, key)) return *before;
  }
  return index_.find(key);
}

Result<LogState::Found> LogState::found_at(const Location& location) const {
  const SegmentRef segment = location.slot < segments_.size() ? segments_[location.slot] : nullptr;
  const std::uint64_t end = location.offset() + kValueHeaderSize + location.value_size;
  // The index may come from a damaged checkpoint whose checksum fitted by chance, or point
  // into a segment that somebody deleted.
  if (segment == nullptr || segment->file == nullptr) {
    return corruption("the segment that held the value is missing");
  }
  if (end > segment->used_end) {
    return corruption(fmt::format("{}: a value should lie at offset {}, but the segment ends at {}",
                                  segment->file->path(), location.offset(), segment->used_end));
  }
  const bool may_map =
      map_reads_ && (segment->sealed || (applies_durable_ && segment->kind == SegmentKind::log));
  return Found{segment, location, segment->used_end, !segment->sealed, may_map};
}

Status LogState::check_usable() const {
  if (!broken_) return {};
  return io_error("memory ran out while a batch was taken in; close the log and open it again");
}

Result<std::optional<LogState::Found>> LogState::find(ByteView key, const At& at) const {
  VARVE_TRY(check_usable());
  VARVE_TRY(check_key(traits_, key));
  const std::optional<Location> location = locate(key, at);
  if (!location) return std::nullopt;
  auto found = found_at(*location);
  if (!found) return found.error().with_context(printable_key(key));
  return *std::move(found);
}

Result<Bytes> LogState::read(const Found& found, ByteView key, bool checks) const {
  const Location& location = found.location;
  if (found.may_map && location.verified && !checks) {
    const std::uint64_t offset = location.offset() + kValueHeaderSize;
    if (const std::byte* base =
            found.segment->map(offset + location.value_size, found.used_end, found.may_grow)) {
      const ByteView value(base + offset, location.value_size);
      return Bytes::pinning(found.segment, value);
    }
  }
  auto value = read_value(*found.segment->file, key, location.offset(), location.value_size,
                          found.segment->salt);
  if (!value) return value.error().with_context(printable_key(key));
  if (map_reads_ && !location.verified) {
    const std::shared_lock lock(mutex_);
    index_.mark_verified(key, location);
  }
  return value;
}

Result<Bytes> LogState::read_raw(const Found& found, std::uint64_t size_max) {
  const std::uint64_t size = std::min<std::uint64_t>(found.location.value_size, size_max);
  if (size == 0) return Bytes();
  Buffer part(static_cast<std::size_t>(size));
  VARVE_TRY(
      found.segment->file->read_exactly(found.location.offset() + kValueHeaderSize, part.span()));
  return std::move(part).freeze();
}

Result<std::optional<Bytes>> LogState::get(ByteView key, const At& at) const {
  Result<std::optional<Found>> found = std::nullopt;
  {
    // The segment is held before the lock goes: from then on nobody punches or recycles it.
    const std::shared_lock lock(mutex_);
    found = find(key, at);
  }
  if (!found) return found.error();
  if (!*found) return std::nullopt;
  VARVE_ASSIGN(Bytes value, read(**found, key));
  prefetch(value);
  return value;
}

Result<std::optional<Bytes>> LogState::get_raw(ByteView key, std::uint64_t size_max,
                                               const At& at) const {
  Result<std::optional<Found>> found = std::nullopt;
  {
    const std::shared_lock lock(mutex_);
    found = find(key, at);
  }
  if (!found) return found.error();
  if (!*found) return std::nullopt;
  VARVE_ASSIGN(Bytes value, read_raw(**found, size_max));
  return value;
}

std::vector<Result<std::optional<Bytes>>> LogState::multi_get(const std::vector<Bytes>& keys,
                                                              const At& at) const {
  std::vector<Result<std::optional<Found>>> found;
  found.reserve(keys.size());
  {
    const std::shared_lock lock(mutex_);
    for (const Bytes& key : keys) found.push_back(find(key, at));
  }
  std::vector<Result<std::optional<Bytes>>> values;
  values.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!found[i]) {
      values.emplace_back(found[i].error());
    } else if (!*found[i]) {
      values.emplace_back(std::nullopt);
    } else {
      auto value = read(**found[i], keys[i]);
      if (value) {
        values.emplace_back(std::optional<Bytes>(*std::move(value)));
      } else {
        values.emplace_back(std::move(value).error());
      }
    }
  }
  return values;
}

std::vector<LogState::Item> LogState::collect(ByteView from, const std::optional<Bytes>& end,
                                              std::size_t count_max, const At& at,
                                              std::optional<Bytes>& rest) const {
  std::vector<Item> items;
  rest.reset();
  index_.visit(from, [&](ByteView key, const Location& location) {
    if (end && as_text(key) >= end->text()) return false;
    if (items.size() == count_max) {
      // Right behind the last one, not at this key: what lay between them may be gone from the
      // index and still be in the snapshot.
      ByteWriter next;
      next.bytes(items.back().key);
      next.u8(0);
      rest = next.take();
      return false;
    }
    items.push_back({Bytes::copy_of(key), location});
    return true;
  });
  if (!at) return items;

  // Up to where the next look begins, what changed since the snapshot takes its place: also what
  // lay behind the last item and is gone.
  std::optional<std::string> next;
  if (rest) next = std::string(rest->text());
  const SnapshotList::Places changed = snapshots_.changed_since(*at, as_text(from), next);
  if (changed.empty()) return items;
  std::vector<Item> merged;
  auto item = items.begin();
  const auto take_items_below = [&](const std::string* key) {
    for (; item != items.end() && (key == nullptr || item->key.text() < *key); ++item) {
      merged.push_back(std::move(*item));
    }
  };
  for (const auto& [key, place] : changed) {
    if (end && std::string_view(key) >= end->text()) break;
    take_items_below(&key);
    if (item != items.end() && item->key.text() == key) ++item;
    if (place) merged.push_back({Bytes::copy_of(key), *place});
  }
  take_items_below(nullptr);
  return merged;
}

Result<RangePage> LogState::range_at(const RangeQuery& query, const At& at, bool checks) {
  VARVE_ASSIGN(const RangeBounds bounds, range_bounds(query));
  if (bounds.empty()) return RangePage{};
  ensure_order();
  RangePageBuilder page(query);
  std::vector<std::pair<Item, Result<Found>>> looked_at;
  std::optional<Bytes> from = bounds.first;
  while (from) {
    std::optional<Bytes> rest;
    looked_at.clear();
    {
      const std::shared_lock lock(mutex_);
      VARVE_TRY(check_usable());
      const std::size_t wanted = query.count_max < kLookCount ? query.count_max + 1 : kLookCount;
      for (Item& item : collect(*from, bounds.end, wanted, at, rest)) {
        auto found = found_at(item.location);
        looked_at.emplace_back(std::move(item), std::move(found));
      }
    }
    for (auto& [item, found] : looked_at) {
      if (!page.has_room()) return std::move(page).take();
      Result<Bytes> value = Bytes();
      if (query.values && !found) {
        value = found.error().with_context(printable_key(item.key));
      } else if (query.values && query.raw_size_max) {
        value = read_raw(*found, *query.raw_size_max);
      } else if (query.values) {
        value = read(*found, item.key, checks);
      }
      page.add(item.key, item.location.value_size, std::move(value));
    }
    from = std::move(rest);
  }
  return std::move(page).take();
}

Result<RangePage> LogState::range(const RangeQuery& query, const At& at) {
  // What one look covers is of one moment by itself.
  if (at || query.count_max < kLookCount) return range_at(query, at);
  const HeldSnapshot held(*this);
  return range_at(query, held.handle);
}

// --- LogSnapshot ---------------------------------------------------------------------

LogSnapshot::LogSnapshot(LogState& state, std::shared_ptr<const void> owner)
    : state_(state), owner_(std::move(owner)), held_(state.hold()) {}

LogSnapshot::~LogSnapshot() { state_.release(held_); }

Result<std::optional<Bytes>> LogSnapshot::get(ByteView key) const {
  return or_out_of_memory([&] { return state_.get(key, held_); });
}

Result<std::optional<Bytes>> LogSnapshot::get_raw(ByteView key, std::uint64_t size_max) const {
  return or_out_of_memory([&] { return state_.get_raw(key, size_max, held_); });
}

std::vector<Result<std::optional<Bytes>>> LogSnapshot::multi_get(
    const std::vector<Bytes>& keys) const {
  return multi_get_or_none([&] { return state_.multi_get(keys, held_); });
}

Result<RangePage> LogSnapshot::range(const RangeQuery& query) const {
  return or_out_of_memory([&] { return state_.range(query, held_); });
}

}  // namespace varve::log
