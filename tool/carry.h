// What of one save another format can carry.
#pragma once

#include <string_view>

#include "tool/records.h"

namespace varve::tool {

// Why `can` cannot carry this record, or success. `entity_schema` is what the entities of the
// save it comes from are made of.
Status can_carry(const Capabilities& can, const RecordInfo& record, std::string_view entity_schema);

}  // namespace varve::tool
