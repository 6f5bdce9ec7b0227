#include "backend/range_bounds.h"

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

// The smallest key above `key`.
Bytes after(ByteView key) {
  Buffer next(key.size() + 1);
  std::copy(key.begin(), key.end(), next.data());
  next.data()[key.size()] = std::byte{0};
  return std::move(next).freeze();
}

}  // namespace

Result<RangeBounds> range_bounds(const RangeQuery& query) {
  return or_out_of_memory([&]() -> Result<RangeBounds> {
    if (query.count_max == 0) {
      return invalid_argument(
          "a range of pages with no entries has no end; count_max is at least 1");
    }
    RangeBounds bounds;
    bounds.first = std::max(query.prefix, query.from,
                            [](const Bytes& a, const Bytes& b) { return a.text() < b.text(); });
    bounds.end = prefix_end(query.prefix);
    if (query.to && !bounds.is_past(*query.to)) bounds.end = query.to;
    return bounds;
  });
}

std::optional<Bytes> prefix_end(ByteView prefix) {
  while (!prefix.empty() && prefix.back() == std::byte{0xff}) {
    prefix = prefix.first(prefix.size() - 1);
  }
  if (prefix.empty()) return std::nullopt;
  Buffer end(prefix.size());
  std::copy(prefix.begin(), prefix.end(), end.data());
  std::byte& last = end.data()[prefix.size() - 1];
  last = static_cast<std::byte>(std::to_integer<int>(last) + 1);
  return std::move(end).freeze();
}

Result<std::optional<Bytes>> ReadView::get_raw(ByteView key, std::uint64_t size_max) const {
  return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
    // Used where it is: see take() below.
    auto page = range({.prefix = Bytes::copy_of(key),
                       .from = Bytes::copy_of(key),
                       .count_max = 1,
                       .raw_size_max = size_max});
    if (!page) return page.error();
    if (page->entries.empty() || page->entries[0].key.text() != as_text(key)) return std::nullopt;
    VARVE_ASSIGN(Bytes value, std::move(page->entries[0].value));
    return value;
  });
}

bool RangePageBuilder::has_room() {
  const bool is_full = !page_.entries.empty() && (page_.entries.size() >= query_.count_max ||
                                                  (query_.values && size_ >= query_.size_max));
  if (is_full) page_.next = after(page_.entries.back().key);
  return !is_full;
}

void RangePageBuilder::add(Bytes key, std::uint64_t value_size, Result<Bytes> value) {
  page_.entries.push_back({std::move(key), value_size, std::move(value)});
  size_ += query_.raw_size_max ? std::min(*query_.raw_size_max, value_size) : value_size;
}

// Not in the header: GCC 12 with the sanitizers would take `next`, moved while it is not set, for
// a read of what was never written.
RangePage RangePageBuilder::take() && { return std::move(page_); }

}  // namespace varve
