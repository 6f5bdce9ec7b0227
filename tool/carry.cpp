#include "tool/carry.h"

#include <fmt/format.h>

namespace varve::tool {

Status can_carry(const Capabilities& can, const RecordInfo& record,
                 std::string_view entity_schema) {
  const bool is_understood = record.key.kind != RecordKind::entity || !can.entities ||
                             can.entity_schema == "bytes" || can.entity_schema == entity_schema;
  if (!is_understood) {
    return unsupported(fmt::format("{}: its data is {}, and the format {} keeps {}",
                                   to_string(record.key), entity_schema, can.format,
                                   can.entity_schema));
  }
  return check_record(can, record.key, record.owner, record.size);
}

}  // namespace varve::tool
