#include "varve/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/guarded.h"
#include "base/try.h"
#include "codec/utf8.h"
#include "store/quoted_name.h"

namespace varve {
namespace {

// Decimal as to_chars prints it: no plus, no leading zeros, no "-0".
template <class Int>
bool parse_decimal(std::string_view text, Int& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return false;
  char printed[24];
  const auto back = std::to_chars(std::begin(printed), std::end(printed), value);
  return text == std::string_view(printed, static_cast<std::size_t>(back.ptr - printed));
}

bool parse_coordinates(std::string_view text, ChunkPos& pos) {
  pos.coordinate_count = 0;
  while (pos.coordinate_count < kCoordinateCountMax) {
    const std::size_t comma = text.find(',');
    if (!parse_decimal(text.substr(0, comma), pos.coordinates[pos.coordinate_count])) return false;
    ++pos.coordinate_count;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

Result<RecordKey> parse_chunk_key(std::string_view text) {
  RecordKey key{.kind = RecordKind::chunk};
  // Coordinates have no slash in them; the name of a space may.
  const std::size_t slash = text.rfind('/');
  const bool has_space = slash != std::string_view::npos;
  if (!parse_coordinates(has_space ? text.substr(slash + 1) : text, key.pos)) {
    return invalid_argument(fmt::format(
        "chunk:{}: expected one to four whole numbers with commas between them, such as "
        "chunk:3,-2 or chunk:the_nether/3,-2",
        quoted_name(text)));
  }
  if (has_space) {
    if (slash == 0) {
      return invalid_argument(
          fmt::format("chunk:{}: the default space has no name; leave out the slash", text));
    }
    VARVE_ASSIGN(key.pos.space, Space::named(text.substr(0, slash)));
  }
  return key;
}

Result<RecordKey> parse_key(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (kind == "chunk") return parse_chunk_key(rest);
  if (kind == "entity") {
    RecordKey key{.kind = RecordKind::entity};
    if (!parse_decimal(rest, key.id)) {
      return invalid_argument(
          fmt::format("entity:{}: expected a whole number, such as entity:17", quoted_name(rest)));
    }
    return key;
  }
  if (kind == "player" || kind == "global") {
    if (Status good = check_name(rest); !good) return good.error().with_context(kind);
    RecordKey key{.kind = kind == "player" ? RecordKind::player : RecordKind::global};
    key.name = rest;
    return key;
  }
  return invalid_argument(fmt::format(
      "{} is no record key: expected chunk:, entity:, player: or global:", quoted_name(text)));
}

}  // namespace

Status check_name(std::string_view name) {
  return or_out_of_memory([&]() -> Status {
    if (name.empty()) return invalid_argument("the name is empty");
    if (name.size() > kNameSizeMax) {
      return invalid_argument(fmt::format("the name {} is {} bytes long; at most {} are allowed",
                                          quoted_name(name), name.size(), kNameSizeMax));
    }
    for (std::string_view rest = name; !rest.empty();) {
      const DecodedCharacter next = decode_utf8(rest);
      if (next.size == 0) {
        return invalid_argument(fmt::format("the name {} is not UTF-8", quoted_name(name)));
      }
      if (next.character < 0x20 || (next.character >= 0x7f && next.character < 0xa0)) {
        return invalid_argument(fmt::format("the name {} has the control character U+{:04X}",
                                            quoted_name(name),
                                            static_cast<std::uint32_t>(next.character)));
      }
      rest.remove_prefix(next.size);
    }
    return {};
  });
}

bool ChunkBox::contains(const ChunkPos& pos) const noexcept {
  if (pos.space != min.space || pos.space != max.space) return false;
  if (pos.coordinate_count != min.coordinate_count) return false;
  if (pos.coordinate_count != max.coordinate_count) return false;
  const std::size_t count = std::min<std::size_t>(pos.coordinate_count, kCoordinateCountMax);
  for (std::size_t axis = 0; axis < count; ++axis) {
    if (pos[axis] < min[axis] || pos[axis] > max[axis]) return false;
  }
  return true;
}

std::string to_string(const ChunkPos& pos) {
  std::string out = "chunk:";
  if (pos.space != Space()) {
    out += pos.space.name();
    out += '/';
  }
  // Also of a position nobody should have made, since messages name it.
  const std::size_t count = std::min<std::size_t>(pos.coordinate_count, kCoordinateCountMax);
  for (std::size_t axis = 0; axis < count; ++axis) {
    if (axis > 0) out += ',';
    fmt::format_to(std::back_inserter(out), "{}", pos[axis]);
  }
  return out;
}

std::string entity_key(EntityId id) { return fmt::format("entity:{}", id); }
std::string player_key(std::string_view id) { return fmt::format("player:{}", id); }
std::string global_key(std::string_view name) { return fmt::format("global:{}", name); }

std::string_view to_string(RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::chunk:
      return "chunk";
    case RecordKind::entity:
      return "entity";
    case RecordKind::player:
      return "player";
    case RecordKind::global:
      return "global";
  }
  return "record";
}

Result<RecordKey> parse_record_key(std::string_view text) {
  return or_out_of_memory([&] { return parse_key(text); });
}

std::string to_string(const RecordKey& key) {
  switch (key.kind) {
    case RecordKind::chunk:
      return to_string(key.pos);
    case RecordKind::entity:
      return entity_key(key.id);
    case RecordKind::player:
      return player_key(key.name);
    case RecordKind::global:
      return global_key(key.name);
  }
  return {};
}

}  // namespace varve
