// The past of saves, in the words of the tool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "varve/bytes.h"
#include "varve/history.h"
#include "varve/key.h"
#include "varve/result.h"

namespace varve::tool {

Result<std::unique_ptr<WorldHistory>> look_back(std::string_view save);

Result<std::uint64_t> parse_tick(const std::string& text);
// Both ends included, as a person says it; none: as far as the history goes.
Result<TickRange> parse_ticks(const std::optional<std::string>& from,
                              const std::optional<std::string>& to);

// "OFFSET,SIZE" of a raw chunk, "X,Y,Z" of a voxel chunk, as the chunk type names cells.
Result<Bytes> parse_cell(const std::string& text, std::string_view chunk_type);
// What stands in it: a number of a voxel chunk, else hexadecimal digits.
std::string cell_text(const Bytes& value, std::string_view chunk_type);

std::string hex_text(ByteView bytes);

}  // namespace varve::tool
