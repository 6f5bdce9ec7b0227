#include "store/varve/record_scan.h"

#include <algorithm>

#include "backend/batch_check.h"
#include "base/try.h"

namespace varve {
namespace {

constexpr std::size_t kPageCount = 1024;
// In a box much of a page may lie outside: no more than a region is read in vain.
constexpr std::size_t kBoxPageCount = 256;

using Regions = std::array<std::int32_t, kCoordinateCountMax>;

Regions regions_of(const ChunkPos& pos) {
  const auto bits = region_bits(pos.coordinate_count);
  Regions regions = {};
  for (std::size_t i = 0; i < pos.coordinate_count; ++i) regions[i] = pos.coordinates[i] >> bits[i];
  return regions;
}

// The first region from `at` on, in the order of keys, that is within the bounds; nullopt if there
// is none.
std::optional<Regions> next_within(const Regions& at, const Regions& min, const Regions& max,
                                   std::size_t count) {
  Regions next = at;
  for (std::size_t i = 0; i < count; ++i) {
    if (next[i] >= min[i] && next[i] <= max[i]) continue;
    if (next[i] < min[i]) {
      // All behind it begin anew at their lower bounds.
      for (std::size_t k = i; k < count; ++k) next[k] = min[k];
      return next;
    }
    // Beyond: the one before it goes on, if any can.
    std::size_t raised = i;
    while (raised > 0 && next[raised - 1] == max[raised - 1]) --raised;
    if (raised == 0) return std::nullopt;
    ++next[raised - 1];
    for (std::size_t k = raised; k < count; ++k) next[k] = min[k];
    return next;
  }
  return next;
}

// A corner of a region: its first chunk, or its last.
ChunkPos corner_of(const Regions& regions, std::uint8_t count, bool is_last) {
  const auto bits = region_bits(count);
  ChunkPos pos;
  pos.coordinate_count = count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto low = static_cast<std::int64_t>(regions[i]) * (std::int64_t{1} << bits[i]);
    pos.coordinates[i] =
        static_cast<std::int32_t>(is_last ? low + (std::int64_t{1} << bits[i]) - 1 : low);
  }
  return pos;
}

Result<PlacedChunk> place_of(KeyTag tag, ByteView key) {
  if (tag == KeyTag::chunk) return decode_chunk_key(key);
  VARVE_ASSIGN(const OwnedEntityKey owned, decode_owned_entity_key(key));
  return owned.owner;
}

bool is_inside(const ChunkBox& box, const ChunkPos& pos) {
  for (std::size_t i = 0; i < pos.coordinate_count; ++i) {
    if (pos[i] < box.min[i] || pos[i] > box.max[i]) return false;
  }
  return true;
}

}  // namespace

Status scan_records(const ReadView& view, const ScanRange& range,
                    const std::function<Result<bool>(ScannedRecord)>& visit, StrayRecords& strays) {
  RangeQuery query{.prefix = chunk_prefix(range.tag, range.space, range.coordinate_count).copy(),
                   .count_max = range.box ? kBoxPageCount : kPageCount,
                   .raw_size_max = range.raw_size_max};
  const std::size_t count = range.coordinate_count;
  Regions min = {};
  Regions max = {};
  const auto key_of = [&](const ChunkPos& pos) {
    return SaveKey(range.tag).position(range.space, pos);
  };
  std::optional<Bytes> from = Bytes();
  if (range.box) {
    for (std::size_t i = 0; i < count; ++i) {
      if (range.box->min[i] > range.box->max[i]) return {};
    }
    min = regions_of(range.box->min);
    max = regions_of(range.box->max);
    from = key_of(corner_of(min, range.coordinate_count, false)).copy();
    // Behind the last chunk of the last region, and behind what it owns.
    SaveKey last = key_of(corner_of(max, range.coordinate_count, true));
    query.to = last.u64(~std::uint64_t{0}).u8(0).copy();
  }
  while (from) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view.range(query));
    from = std::move(page.next);
    for (RangeEntry& entry : page.entries) {
      const auto place = place_of(range.tag, entry.key);
      if (!place) {
        strays.add([&] { return place.error().with_context(printable_key(entry.key)); });
        continue;
      }
      ScannedRecord record{*place, std::move(entry)};
      if (range.box && !is_inside(*range.box, record.place.pos)) {
        const auto next = next_within(regions_of(record.place.pos), min, max, count);
        if (!next) return {};
        // A page that was read is gone through faster than another one is fetched.
        Bytes wanted = key_of(corner_of(*next, range.coordinate_count, false)).copy();
        if (from && wanted.text() > from->text()) from = std::move(wanted);
        continue;
      }
      VARVE_ASSIGN(const bool goes_on, visit(std::move(record)));
      if (!goes_on) return {};
    }
  }
  return {};
}

}  // namespace varve
