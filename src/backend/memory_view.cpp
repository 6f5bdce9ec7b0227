#include "backend/memory_view.h"

#include "backend/batch_check.h"
#include "backend/range_bounds.h"
#include "base/guarded.h"
#include "base/try.h"

namespace varve {

bool MemoryVersion::apply(const WriteBatch& batch) {
  bool is_changed = false;
  const MapEdit edit;
  for (const auto& [key, value] : batch.changes()) {
    const Bytes* old = map.find(key.text());
    if (old != nullptr) live_size -= key.size() + old->size();
    if (value) {
      live_size += key.size() + value->size();
      map.put(edit, MemoryKey{key}, value->joined());
      is_changed = true;
    } else {
      is_changed = map.erase(edit, key.text()) || is_changed;
    }
  }
  return is_changed;
}

Result<std::optional<Bytes>> MemoryView::get(ByteView key) const {
  if (version_ == nullptr) return closed_error(traits_);
  VARVE_TRY(check_key(traits_, key));
  const Bytes* value = version_->map.find(as_text(key));
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::vector<Result<std::optional<Bytes>>> MemoryView::multi_get(
    const std::vector<Bytes>& keys) const {
  std::vector<Result<std::optional<Bytes>>> results;
  const Status enough = or_out_of_memory([&]() -> Status {
    results.reserve(keys.size());
    return {};
  });
  if (!enough) return {};
  for (const Bytes& key : keys) results.push_back(get(key));
  return results;
}

Result<RangePage> MemoryView::range(const RangeQuery& query) const {
  if (version_ == nullptr) return closed_error(traits_);
  return or_out_of_memory([&]() -> Result<RangePage> {
    VARVE_ASSIGN(const RangeBounds bounds, range_bounds(query));
    RangePageBuilder page(query);
    if (bounds.empty()) return std::move(page).take();
    version_->map.visit_from(bounds.first.text(), [&](const MemoryKey& key, const Bytes& value) {
      if (bounds.is_past(key.bytes) || !page.has_room()) return false;
      page.add(key.bytes, value.size(), query.values ? part_of(value, query) : Bytes());
      return true;
    });
    return std::move(page).take();
  });
}

}  // namespace varve
