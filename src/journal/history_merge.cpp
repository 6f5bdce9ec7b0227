#include "journal/history_merge.h"

#include <algorithm>

#include "base/try.h"

namespace varve::journal {
namespace {

constexpr auto kRecordKindCount = static_cast<std::size_t>(TouchedKind::singleton);

// The record of a stretch whose turn it is.
struct Cursor {
  const HistoryBlob* blob = nullptr;
  std::size_t number = 0;  // of the stretch
  std::size_t kind = 0;
  std::size_t row = 0;
  TouchedKey key = {};

  TouchedKind touched_kind() const { return static_cast<TouchedKind>(kind); }
  // Reads the key it stands at, or goes on to the next kind. False at the end.
  Result<bool> settle() {
    while (kind < kRecordKindCount && row == blob->count(touched_kind())) {
      ++kind;
      row = 0;
    }
    if (kind == kRecordKindCount) return false;
    VARVE_ASSIGN(key, blob->key_at(touched_kind(), row));
    return true;
  }
};

// For a heap with the first one on top; of one record's, the earliest stretch's.
bool comes_later(const Cursor& a, const Cursor& b) {
  if (comes_before(b.key, a.key)) return true;
  return !comes_before(a.key, b.key) && a.number > b.number;
}

RecordKey record_of(const TouchedKey& key) {
  return {static_cast<RecordKind>(key.kind), key.pos, key.id, key.name};
}

}  // namespace

Status merge_touched(std::span<const HistoryBlob> blobs, const TickRange& range,
                     const HistoryIndex::VisitTouched& visit) {
  std::vector<Cursor> heap;
  const auto push = [&](Cursor cursor) -> Status {
    VARVE_ASSIGN(const bool has_more, cursor.settle());
    if (!has_more) return {};
    heap.push_back(std::move(cursor));
    std::push_heap(heap.begin(), heap.end(), comes_later);
    return {};
  };
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    VARVE_TRY(push({.blob = &blobs[i], .number = i}));
  }
  std::vector<std::uint64_t> ticks;
  while (!heap.empty()) {
    const TouchedKey key = heap.front().key;
    ticks.clear();
    while (!heap.empty() && !comes_before(key, heap.front().key)) {
      std::pop_heap(heap.begin(), heap.end(), comes_later);
      Cursor cursor = std::move(heap.back());
      heap.pop_back();
      VARVE_TRY(cursor.blob->ticks_at(cursor.touched_kind(), cursor.row, range, ticks));
      ++cursor.row;
      VARVE_TRY(push(std::move(cursor)));
    }
    if (ticks.empty()) continue;
    VARVE_ASSIGN(const bool goes_on, visit(record_of(key), ticks));
    if (!goes_on) return {};
  }
  return {};
}

}  // namespace varve::journal
