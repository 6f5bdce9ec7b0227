#include "tool/histories.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <vector>

#include "varve/chunk.h"
#include "varve/nebula.h"

namespace varve::tool {
namespace {

bool is_voxels(std::string_view chunk_type) { return chunk_type == nebula::voxel_chunks()->name(); }

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

// Numbers with commas between them; empty if it is anything else.
std::vector<std::uint32_t> parse_numbers(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto number = parse_number<std::uint32_t>(text.substr(0, comma));
    if (!number) return {};
    numbers.push_back(*number);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<std::unique_ptr<WorldHistory>> look_back(std::string_view save) {
  auto history = WorldHistory::open(save);
  if (!history && history.error().code() == ErrorCode::not_found) {
    return not_found(history.error().message() + "; check the path");
  }
  return history;
}

Result<std::uint64_t> parse_tick(const std::string& text) {
  // The last one has no successor, and a range ends before one.
  const auto tick = parse_number<std::uint64_t>(text);
  if (tick && *tick != std::numeric_limits<std::uint64_t>::max()) return *tick;
  return invalid_argument(fmt::format("'{}' is no tick: expected a whole number", text));
}

Result<TickRange> parse_ticks(const std::optional<std::string>& from,
                              const std::optional<std::string>& to) {
  TickRange range;
  if (from) {
    const auto tick = parse_tick(*from);
    if (!tick) return tick.error();
    range.from = *tick;
  }
  if (to) {
    const auto tick = parse_tick(*to);
    if (!tick) return tick.error();
    range.to = *tick + 1;
  }
  if (range.from >= range.to) {
    return invalid_argument(fmt::format("there is nothing from tick {} to {}", *from, *to));
  }
  return range;
}

Result<Bytes> parse_cell(const std::string& text, std::string_view chunk_type) {
  const std::vector<std::uint32_t> numbers = parse_numbers(text);
  if (is_voxels(chunk_type)) {
    const bool is_inside = numbers.size() == 3 && numbers[0] < nebula::kChunkSide &&
                           numbers[1] < nebula::kChunkSide && numbers[2] < nebula::kChunkSide;
    if (is_inside) {
      return nebula::VoxelChunk::cell_of({static_cast<std::uint8_t>(numbers[0]),
                                          static_cast<std::uint8_t>(numbers[1]),
                                          static_cast<std::uint8_t>(numbers[2])});
    }
    return invalid_argument(
        fmt::format("'{}' is no cell: expected x,y,z, each from 0 to 31", text));
  }
  if (numbers.size() == 2) return RawChunk::cell_of(numbers[0], numbers[1]);
  return invalid_argument(
      fmt::format("'{}' is no cell: expected an offset and a size, such as 0,4", text));
}

std::string cell_text(const Bytes& value, std::string_view chunk_type) {
  if (!is_voxels(chunk_type) || value.size() != 2) return hex_text(value);
  return std::to_string(std::to_integer<unsigned>(value.data()[0]) |
                        std::to_integer<unsigned>(value.data()[1]) << 8);
}

std::string hex_text(ByteView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

}  // namespace varve::tool
