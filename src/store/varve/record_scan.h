// Goes through the records of a save that belong to chunks: the chunks themselves, or the entities
// they own.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/try.h"
#include "store/varve/save_keys.h"
#include "store/varve/stray_records.h"
#include "varve/backend.h"
#include "varve/store.h"

namespace varve {

// Calls `visit(entry)` for each entry of a range, page by page, until `visit` returns false.
template <class Visit>
Status for_each_entry(const ReadView& view, RangeQuery query, const Visit& visit) {
  for (std::optional<Bytes> from = query.from; from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view.range(query));
    for (const RangeEntry& entry : page.entries) {
      VARVE_ASSIGN(const bool goes_on, visit(entry));
      if (!goes_on) return {};
    }
    from = std::move(page.next);
  }
  return {};
}

struct ScannedRecord {
  PlacedChunk place;
  RangeEntry entry;
};

// Which records: of one space, with one number of coordinates, and if there is a box, in it.
struct ScanRange {
  KeyTag tag = KeyTag::chunk;
  SpaceNumber space = 0;
  std::uint8_t coordinate_count = 2;
  std::optional<ChunkBox> box = {};
  // As in RangeQuery; nullopt reads whole values.
  std::optional<std::uint64_t> raw_size_max = {};
};

// Calls `visit` with each, region by region: those of one region stand together, and regions rise
// by their first coordinate, then by the others. Regions outside the box are skipped, not read.
// Stops early if `visit` returns false. What is under a key that is none goes to `strays`. `view`
// is a snapshot, if all are to be of one moment.
Status scan_records(const ReadView& view, const ScanRange& range,
                    const std::function<Result<bool>(ScannedRecord)>& visit, StrayRecords& strays);

}  // namespace varve
