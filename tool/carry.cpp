#include "tool/carry.h"

#include <fmt/format.h>

namespace varve::tool {
namespace {

using Reason = std::optional<std::string>;

Reason why_not_at(const Capabilities& can, const ChunkPos& pos) {
  if (pos.coordinate_count < can.coordinate_count_min ||
      pos.coordinate_count > can.coordinate_count_max) {
    return fmt::format("{} takes positions of {} to {} coordinates, not {}", can.format,
                       can.coordinate_count_min, can.coordinate_count_max, pos.coordinate_count);
  }
  for (std::size_t axis = 0; axis < pos.coordinate_count; ++axis) {
    const CoordinateRange& range = can.coordinate_ranges[axis];
    if (pos[axis] < range.min || pos[axis] > range.max) {
      return fmt::format("coordinate {} goes from {} to {} in {}", axis + 1, range.min, range.max,
                         can.format);
    }
  }
  if (!can.spaces && pos.space != Space()) {
    return fmt::format("{} has no space but the default one", can.format);
  }
  return std::nullopt;
}

Reason why_not_entity(const Capabilities& can, const std::optional<ChunkPos>& owner,
                      std::string_view schema) {
  if (!can.entities) return fmt::format("{} keeps no entities", can.format);
  if (can.entity_schema != "bytes" && can.entity_schema != schema) {
    return fmt::format("its data is {}, and {} keeps {}", schema, can.format, can.entity_schema);
  }
  if (owner) return why_not_at(can, *owner);
  if (!can.entities_without_owner) {
    return fmt::format("it has no owner, and {} keeps only entities that have one", can.format);
  }
  return std::nullopt;
}

Reason why_not_kind(const Capabilities& can, const RecordInfo& record, std::string_view schema) {
  switch (record.key.kind) {
    case RecordKind::chunk:
      return why_not_at(can, record.key.pos);
    case RecordKind::entity:
      return why_not_entity(can, record.owner, schema);
    case RecordKind::player:
      if (!can.players) return fmt::format("{} keeps no players", can.format);
      break;
    case RecordKind::global:
      if (!can.globals) return fmt::format("{} keeps no globals", can.format);
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not(const Capabilities& can, const RecordInfo& record,
                                   std::string_view entity_schema) {
  if (const Reason reason = why_not_kind(can, record, entity_schema)) return reason;
  if (record.size > can.payload_size_max) {
    return fmt::format("it has {} bytes, and {} takes at most {} in a record", record.size,
                       can.format, can.payload_size_max);
  }
  return std::nullopt;
}

}  // namespace varve::tool
