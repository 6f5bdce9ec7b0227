#include "store/nebula/save_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "io/path.h"
#include "varve/checksum.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

constexpr std::string_view kChunkSuffix = ".chunk";
constexpr std::string_view kSceneFile = "entities.bin";
constexpr std::string_view kFilePrefix = "file:";
// File systems take 255 bytes; this leaves room for what a person may append.
constexpr std::size_t kFileNameSizeMax = 200;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Whether the global `file:<name>` is the file `name` beside world.ron. Anything with a
// folder in it, or that could be mistaken for something of the format's, is not.
bool is_plain_file(std::string_view name) {
  if (name.empty() || name.size() > kFileNameSizeMax || !is_plain(name.front())) return false;
  if (!std::all_of(name.begin(), name.end(), [](char c) { return is_plain(c) || c == '.'; })) {
    return false;
  }
  // Some disks do not tell "Varve" from "varve".
  const auto is_taken = [&](std::string_view taken) {
    return std::equal(name.begin(), name.end(), taken.begin(), taken.end(),
                      [](char a, char b) { return lower(a) == b; });
  };
  return !is_taken(kSceneFile) && !is_taken(kQuarantineFolder) &&
         std::none_of(kFolders.begin(), kFolders.end(), is_taken);
}

// Whether a global is a file beside world.ron, and so not in globals/.
bool is_file_global(std::string_view name) {
  return name.starts_with(kFilePrefix) && is_plain_file(name.substr(kFilePrefix.size()));
}

// Any name as the name of a file: what could be special is %XX. A name too long for that is
// its beginning and its hash; the catalog then knows the rest.
std::string escaped(std::string_view name) {
  std::string file;
  for (const char c : name) {
    // Some disks do not tell "Ann" from "ann". A dot in front would hide the file, or name
    // a folder.
    const bool is_upper = c >= 'A' && c <= 'Z';
    if ((is_plain(c) && !is_upper) || (c == '.' && !file.empty())) {
      file += c;
    } else {
      file += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (file.size() <= kFileNameSizeMax) return file;
  const ByteView bytes = as_byte_view(name);
  return fmt::format("{}~{:016x}{:016x}", file.substr(0, 100), xxh3(bytes), xxh3(bytes, 1));
}

std::optional<std::string> unescaped(std::string_view file) {
  std::string name;
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (file[i] != '%') {
      name += file[i];
      continue;
    }
    unsigned char byte = 0;
    const auto digits = file.substr(i + 1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2) return std::nullopt;
    name += static_cast<char>(byte);
    i += 2;
  }
  if (!check_name(name) || escaped(name) != file) return std::nullopt;
  return name;
}

// A whole number as we would print it, and nothing else.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  if (fmt::to_string(number) != text) return std::nullopt;
  return number;
}

std::string chunk_file(const ChunkPos& pos) {
  return fmt::format("{}_{}_{}_{}{}", pos[0], pos[1], pos[2], pos[3], kChunkSuffix);
}

std::optional<RecordKey> chunk_of(std::string_view name) {
  if (!name.ends_with(kChunkSuffix)) return std::nullopt;
  name.remove_suffix(kChunkSuffix.size());
  ChunkPos pos(0, 0, 0, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t end = i < 3 ? name.find('_') : name.size();
    if (end == std::string_view::npos) return std::nullopt;
    const auto number = parse_number<std::int32_t>(name.substr(0, end));
    if (!number) return std::nullopt;
    pos.coordinates[i] = *number;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  if (pos[0] < 0 || pos[0] >= kFaceCount || pos[3] < 0 || pos[3] > 255) return std::nullopt;
  return RecordKey{.kind = RecordKind::chunk, .pos = pos};
}

}  // namespace

SaveLayout::SaveLayout(std::string_view root) : root_(root) {
  // "world/" and "world" are the same save, and so are their backups.
  while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
}

std::string SaveLayout::in(std::string_view relative) const {
  return relative.empty() ? root_ : path_join(root_, relative);
}

std::string SaveLayout::file(const RecordKey& key) const {
  switch (key.kind) {
    case RecordKind::chunk:
      return in(fmt::format("chunks/{}", chunk_file(key.pos)));
    case RecordKind::entity:
      return in(kSceneFile);
    case RecordKind::player:
      return in(fmt::format("players/{}", escaped(key.name)));
    case RecordKind::global:
      break;
  }
  const std::string_view name = key.name;
  if (is_file_global(name)) return in(name.substr(kFilePrefix.size()));
  return in(fmt::format("globals/{}", escaped(name)));
}

std::string SaveLayout::staged(const FileId& id) const {
  return in(fmt::format("varve/staged/{}-{}", id.version, id.number));
}

std::string SaveLayout::held(const FileId& id) const {
  return in(fmt::format("varve/held/{}-{}", id.version, id.number));
}

std::optional<RecordKey> key_of_file(std::string_view folder, std::string_view name) {
  if (folder == "chunks") return chunk_of(name);
  if (folder.empty()) {
    if (name == kSceneFile) return scene_key();
    if (!is_plain_file(name)) return std::nullopt;
    return RecordKey{.kind = RecordKind::global,
                     .name = std::string(kFilePrefix) + std::string(name)};
  }
  auto plain = unescaped(name);
  if (!plain) return std::nullopt;
  const RecordKind kind = folder == "players" ? RecordKind::player : RecordKind::global;
  // Its file is elsewhere; this one would be a second.
  if (kind == RecordKind::global && is_file_global(*plain)) return std::nullopt;
  return RecordKey{.kind = kind, .name = *std::move(plain)};
}

std::optional<FileId> parse_file_id(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto version = parse_number<std::uint64_t>(name.substr(0, dash));
  const auto number = parse_number<std::uint64_t>(name.substr(dash + 1));
  if (!version || !number) return std::nullopt;
  return FileId{*version, *number};
}

}  // namespace varve::nebula
