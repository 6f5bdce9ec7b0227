// Listings: each record once, as reading it by key would find it. What reading could not find,
// since its key or its name is lost, is counted: the listing ends with that.
#include <algorithm>

#include "backend/batch_check.h"
#include "base/try.h"
#include "store/varve/payload.h"
#include "store/varve/record_reader.h"
#include "store/varve/record_scan.h"

namespace varve {
namespace {

std::uint64_t payload_size_of(const RangeEntry& entry) {
  // What is damaged is listed, and shows when it is read.
  if (!entry.value) return 0;
  const auto info = inspect_payload(*entry.value);
  return info ? info->payload_size : 0;
}

// Whether it tells of one record. Where memory ran out, the rest cannot be listed either.
bool is_of_record(const Error& error) {
  return error.code() == ErrorCode::corruption || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::io;
}

// The spaces and numbers of coordinates a filter asks for, in the order of listings.
struct Part {
  Space space;
  ScanRange range;
};

std::vector<Part> parts_of(const SaveTables& tables, const ChunkFilter& filter, KeyTag tag) {
  std::vector<Part> parts;
  std::optional<Space> only = filter.space;
  if (filter.box) {
    const ChunkBox& box = *filter.box;
    const bool is_one =
        box.min.space == box.max.space && box.min.coordinate_count == box.max.coordinate_count;
    if (!is_one || (only && *only != box.min.space)) return parts;
    only = box.min.space;
  }
  for (const auto& [space, number] : tables.spaces_by_name()) {
    if (only && *only != space) continue;
    for (std::uint8_t count = 1; count <= kCoordinateCountMax; ++count) {
      if (filter.box && filter.box->min.coordinate_count != count) continue;
      parts.push_back({space,
                       {.tag = tag,
                        .space = number,
                        .coordinate_count = count,
                        .box = filter.box,
                        .raw_size_max = kFrameHeadSizeMax}});
    }
  }
  return parts;
}

bool is_everything(const ChunkFilter& filter) { return !filter.space && !filter.box; }

// The data of an entity, and what its key says of it.
struct EntityData {
  EntityId id = 0;
  std::optional<PlacedChunk> owner;
  std::uint64_t size = 0;

  bool is_at(const std::optional<PlacedChunk>& place) const {
    if (!owner || !place) return !owner && !place;
    return owner->space == place->space && owner->pos == place->pos;
  }
};

void sort_by_id(std::vector<EntityData>& all) {
  // Of one that lies in two places what has an owner comes first.
  std::sort(all.begin(), all.end(), [](const EntityData& a, const EntityData& b) {
    return a.id != b.id ? a.id < b.id : a.owner.has_value() > b.owner.has_value();
  });
}

void add_stray_data(StrayRecords& strays, EntityId id) {
  strays.add([&] {
    return corruption("it is there, and the save says it is elsewhere")
        .with_context(entity_key(id));
  });
}

// What a record of tag 20 says.
Result<std::optional<PlacedChunk>> place_in(const RangeEntry& entry) {
  if (!entry.value) return entry.value.error();
  VARVE_ASSIGN(const Bytes place, read_plain_frame(entry.key, *entry.value));
  return decode_place(place);
}

// A name that is whole and under the key that is made of it.
Result<NamedInfo> long_named(RecordKind kind, ByteView key, const Bytes& payload) {
  if (payload.size() < kNameSizeMax) return corruption("its name is missing");
  NamedInfo info{std::string(payload.text().substr(0, kNameSizeMax)),
                 payload.size() - kNameSizeMax};
  VARVE_TRY(check_name(info.name));
  if (as_text(named_key(kind, info.name)) != as_text(key)) {
    return corruption("it is under the key of another name");
  }
  return info;
}

}  // namespace

Status RecordReader::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  StrayRecords strays;
  for (const Part& part : parts_of(tables_, filter, KeyTag::chunk)) {
    const auto bits = region_bits(part.range.coordinate_count);
    // Regions rise by their first coordinate. Those that share it are put into order together, so
    // that no more than such a slice of the world is held.
    std::vector<ChunkInfo> slice;
    std::int32_t slice_region = 0;
    bool goes_on = true;
    const auto flush = [&] {
      std::sort(slice.begin(), slice.end(),
                [](const ChunkInfo& a, const ChunkInfo& b) { return a.pos < b.pos; });
      for (const ChunkInfo& info : slice) {
        if (goes_on) goes_on = visit(info);
      }
      slice.clear();
      return goes_on;
    };
    const auto take = [&](ScannedRecord record) -> Result<bool> {
      const std::int32_t region = record.place.pos[0] >> bits[0];
      if (region != slice_region && !flush()) return false;
      slice_region = region;
      slice.push_back({record.place.pos.in(part.space), payload_size_of(record.entry)});
      return true;
    };
    VARVE_TRY(scan_records(view_, part.range, take, strays));
    if (goes_on) flush();
    if (!goes_on) return {};
  }
  // Which space or box they would be in, nobody knows.
  if (!is_everything(filter)) return {};
  VARVE_TRY(count_chunks_nowhere(strays));
  return strays.status();
}

Status RecordReader::check_chunks_are_somewhere() const {
  StrayRecords strays;
  VARVE_TRY(count_chunks_nowhere(strays));
  return strays.status();
}

Status RecordReader::count_chunks_nowhere(StrayRecords& strays) const {
  RangeQuery query{.prefix = SaveKey(KeyTag::chunk).copy(), .values = false};
  const auto count = [&](const RangeEntry& entry) -> Result<bool> {
    strays.add([&] {
      const auto placed = decode_chunk_key(entry.key);
      if (!placed) return placed.error().with_context(printable_key(entry.key));
      const auto space = tables_.space(placed->space);
      const Error why = space ? corruption("it is among no chunks") : space.error();
      return why.with_context(to_string(placed->pos));
    });
    return true;
  };
  std::vector<SpaceNumber> numbers;
  for (const auto& [space, number] : tables_.spaces_by_name()) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  for (const SpaceNumber number : numbers) {
    query.to = chunk_prefix(KeyTag::chunk, number, 1).copy();
    VARVE_TRY(for_each_entry(view_, query, count));
    query.from = chunk_prefix(KeyTag::chunk, number, kCoordinateCountMax + 1).copy();
  }
  query.to.reset();
  return for_each_entry(view_, query, count);
}

Status RecordReader::list_entities(const ChunkFilter& filter,
                                   const Visitor<EntityInfo>& visit) const {
  return is_everything(filter) ? list_all_entities(visit) : list_entities_in(filter, visit);
}

std::optional<ChunkPos> RecordReader::owner_of(const std::optional<PlacedChunk>& place) const {
  if (!place) return std::nullopt;
  // Where a space has lost its name, reading the entity says so.
  const auto space = tables_.space(place->space);
  return space ? std::optional(place->pos.in(*space)) : std::nullopt;
}

Status RecordReader::list_all_entities(const Visitor<EntityInfo>& visit) const {
  StrayRecords strays;
  // By id, and they lie by chunk: all of them are held.
  std::vector<EntityData> all;
  const auto add_stray_key = [&](const RangeEntry& entry, const Error& why) {
    strays.add([&] { return why.with_context(printable_key(entry.key)); });
  };
  RangeQuery query{.prefix = SaveKey(KeyTag::owned_entity).copy(),
                   .raw_size_max = kFrameHeadSizeMax};
  VARVE_TRY(for_each_entry(view_, query, [&](const RangeEntry& entry) -> Result<bool> {
    if (const auto key = decode_owned_entity_key(entry.key)) {
      all.push_back({key->id, key->owner, payload_size_of(entry)});
    } else {
      add_stray_key(entry, key.error());
    }
    return true;
  }));
  query.prefix = SaveKey(KeyTag::free_entity).copy();
  VARVE_TRY(for_each_entry(view_, query, [&](const RangeEntry& entry) -> Result<bool> {
    if (const auto id = decode_entity_key(entry.key)) {
      all.push_back({*id, std::nullopt, payload_size_of(entry)});
    } else {
      add_stray_key(entry, id.error());
    }
    return true;
  }));
  sort_by_id(all);

  // What has a place is an entity, whatever became of its data.
  auto next = all.cbegin();
  bool goes_on = true;
  const auto show = [&](const RangeEntry& entry) -> Result<bool> {
    const auto id = decode_entity_key(entry.key);
    if (!id) {
      add_stray_key(entry, id.error());
      return true;
    }
    for (; next != all.cend() && next->id < *id; ++next) add_stray_data(strays, next->id);
    const auto place = place_in(entry);
    if (!place && !is_of_record(place.error())) return place.error();
    EntityInfo info{.id = *id, .owner = place ? owner_of(*place) : std::nullopt, .data_size = 0};
    for (bool is_found = false; next != all.cend() && next->id == *id; ++next) {
      // Where a damaged place would say it is, nobody knows; reading tells of the damage.
      const bool is_it = place ? next->is_at(*place) : !is_found;
      if (is_it) {
        info.owner = owner_of(next->owner);
        info.data_size = next->size;
        is_found = true;
      } else if (place) {
        add_stray_data(strays, *id);
      }
    }
    goes_on = visit(info);
    return goes_on;
  };
  VARVE_TRY(for_each_entry(view_, {.prefix = SaveKey(KeyTag::entity_place).copy()}, show));
  if (!goes_on) return {};
  for (; next != all.cend(); ++next) add_stray_data(strays, next->id);
  return strays.status();
}

Status RecordReader::list_entities_in(const ChunkFilter& filter,
                                      const Visitor<EntityInfo>& visit) const {
  StrayRecords ignored;
  std::vector<EntityData> all;
  for (const Part& part : parts_of(tables_, filter, KeyTag::owned_entity)) {
    const auto take = [&](ScannedRecord record) -> Result<bool> {
      VARVE_ASSIGN(const OwnedEntityKey key, decode_owned_entity_key(record.entry.key));
      all.push_back({key.id, key.owner, payload_size_of(record.entry)});
      return true;
    };
    VARVE_TRY(scan_records(view_, part.range, take, ignored));
  }
  sort_by_id(all);
  std::optional<EntityId> last;
  for (const EntityData& data : all) {
    if (last == data.id) continue;
    const auto place = find_entity(data.id);
    if (!place && !is_of_record(place.error())) return place.error();
    // With a damaged place it may be this one, and reading it tells.
    if (place && (!*place || !data.is_at((*place)->owner))) continue;
    last = data.id;
    const EntityInfo info{.id = data.id, .owner = owner_of(data.owner), .data_size = data.size};
    if (!visit(info)) return {};
  }
  return {};
}

Status RecordReader::list_named(RecordKind kind, const Visitor<NamedInfo>& visit) const {
  const bool is_player = kind == RecordKind::player;
  StrayRecords strays;
  // Names that do not fit into a key are few.
  std::vector<NamedInfo> long_ones;
  RangeQuery query{.prefix = SaveKey(is_player ? KeyTag::long_player : KeyTag::long_global).copy()};
  VARVE_TRY(for_each_entry(view_, query, [&](const RangeEntry& entry) -> Result<bool> {
    const auto payload =
        entry.value ? decode(entry.key, *entry.value, nullptr) : entry.value.error();
    auto info = payload ? long_named(kind, entry.key, *payload) : payload.error();
    if (info) {
      long_ones.push_back(*std::move(info));
    } else if (payload || is_of_record(payload.error())) {
      // Its name is lost with it.
      strays.add([&] { return info.error().with_context(printable_key(entry.key)); });
    } else {
      return payload.error();
    }
    return true;
  }));
  std::sort(long_ones.begin(), long_ones.end(),
            [](const NamedInfo& a, const NamedInfo& b) { return a.name < b.name; });
  auto next_long = long_ones.begin();
  bool goes_on = true;
  query.prefix = SaveKey(is_player ? KeyTag::player : KeyTag::global).copy();
  query.raw_size_max = kFrameHeadSizeMax;
  VARVE_TRY(for_each_entry(view_, query, [&](const RangeEntry& entry) -> Result<bool> {
    const NamedInfo info{std::string(entry.key.text().substr(1)), payload_size_of(entry)};
    if (const Status good = check_name(info.name); !good) {
      // Nobody could ask for it.
      strays.add([&] { return good.error().with_context(to_string(kind)); });
      return true;
    }
    for (; goes_on && next_long != long_ones.end() && next_long->name < info.name; ++next_long) {
      goes_on = visit(*next_long);
    }
    if (goes_on) goes_on = visit(info);
    return goes_on;
  }));
  for (; goes_on && next_long != long_ones.end(); ++next_long) goes_on = visit(*next_long);
  return goes_on ? strays.status() : Status();
}

}  // namespace varve
