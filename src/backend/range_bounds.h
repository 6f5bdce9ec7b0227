// What a RangeQuery asks for, worked out once for every backend: which keys, and where a page
// ends.
//
//   VARVE_ASSIGN(const RangeBounds bounds, range_bounds(query));
//   RangePageBuilder page(query);
//   for (each key from bounds.first on, rising) {
//     if (bounds.is_past(key) || !page.has_room()) break;
//     page.add(key, value_size, value);
//   }
//   return std::move(page).take();
#pragma once

#include <cstdint>
#include <optional>

#include "varve/backend.h"

namespace varve {

// The keys from `first` on that are below `end`; without an end, all from `first` on.
struct RangeBounds {
  Bytes first = {};
  std::optional<Bytes> end = {};

  // Whether the range was through before this key.
  bool is_past(ByteView key) const noexcept {
    return end.has_value() && as_text(key) >= end->text();
  }
  // Whether no key can be in it, which spares the search.
  bool empty() const noexcept { return is_past(first); }
};

// invalid_argument for a query whose pages would have no entries and so no end. Does not throw.
Result<RangeBounds> range_bounds(const RangeQuery& query);

// The smallest key above all that begin with `prefix`: its last byte that is not 0xff, raised.
// nullopt if there is none such, so that no key is above them. Throws std::bad_alloc.
std::optional<Bytes> prefix_end(ByteView prefix);

// The part of a value the query wants.
inline Bytes part_of(const Bytes& value, const RangeQuery& query) {
  if (!query.raw_size_max || *query.raw_size_max >= value.size()) return value;
  return value.slice(0, static_cast<std::size_t>(*query.raw_size_max));
}

// One page while it is filled. Throws std::bad_alloc.
class RangePageBuilder {
 public:
  // `query`, of which range_bounds() approved, must outlive it.
  explicit RangePageBuilder(const RangeQuery& query) : query_(query) {}

  // Asked when there is one more entry. False if the page had to end before it: that is
  // the one case in which a page has a `next`, so a page that ends with the range has none.
  bool has_room();
  // The size counts towards size_max if the query wants values, whatever becomes of the value:
  // who reads it later may put it into its entry then.
  void add(Bytes key, std::uint64_t value_size, Result<Bytes> value);

  RangePage take() &&;

 private:
  const RangeQuery& query_;
  RangePage page_;
  std::uint64_t size_ = 0;
};

}  // namespace varve
