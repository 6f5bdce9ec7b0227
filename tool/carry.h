// What of one save another format can carry.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tool/records.h"

namespace varve::tool {

// Why `can` cannot carry this record; nullopt if nothing speaks against it. `entity_schema`
// is what the entities of the save it comes from are made of.
std::optional<std::string> why_not(const Capabilities& can, const RecordInfo& record,
                                   std::string_view entity_schema);

}  // namespace varve::tool
