#include "journal/history_blob.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/byte_reader.h"
#include "base/endian.h"
#include "base/try.h"
#include "codec/varint.h"
#include "journal/history_blob_layout.h"

namespace varve::journal {
namespace {

Error bad(const char* why) { return corruption(fmt::format("index of history: {}", why)); }

std::uint32_t u32_at(const std::byte* at) { return load_le<std::uint32_t>(at); }

struct ChunkRow {
  std::uint32_t space = 0;
  std::uint32_t coordinate_count = 0;
  std::array<std::int32_t, kCoordinateCountMax> coordinates = {};
  friend auto operator<=>(const ChunkRow&, const ChunkRow&) = default;
};

ChunkRow chunk_row_at(const std::byte* at) {
  ChunkRow row{.space = u32_at(at), .coordinate_count = u32_at(at + 4)};
  for (std::size_t i = 0; i < kCoordinateCountMax; ++i) {
    row.coordinates[i] = static_cast<std::int32_t>(u32_at(at + 8 + 4 * i));
  }
  return row;
}

std::uint64_t id_at(const std::byte* at, TouchedKind kind) {
  return kind == TouchedKind::entity ? load_le<std::uint64_t>(at) : u32_at(at);
}

// The first row that is not before what is looked for.
template <class IsBefore>
std::size_t lower_row(std::size_t row_count, IsBefore is_before) {
  std::size_t low = 0;
  while (row_count > 0) {
    const std::size_t half = row_count / 2;
    if (is_before(low + half)) {
      low += half + 1;
      row_count -= half + 1;
    } else {
      row_count = half;
    }
  }
  return low;
}

}  // namespace

bool comes_before(const TouchedKey& a, const TouchedKey& b) noexcept {
  if (a.kind != b.kind) return a.kind < b.kind;
  switch (a.kind) {
    case TouchedKind::chunk:
      return a.pos < b.pos;
    case TouchedKind::entity:
    case TouchedKind::singleton:
      return a.id < b.id;
    case TouchedKind::player:
    case TouchedKind::global:
      return a.name < b.name;
  }
  return false;
}

Result<HistoryBlob> HistoryBlob::open(Bytes bytes, const Stretch& stretch) {
  ByteReader in(bytes);
  in.expect(kHistoryMagic);
  const std::uint32_t version = in.u32_le();
  if (in.ok() && version > kHistoryVersion) {
    return unsupported(fmt::format("index of history: version {}; this program reads up to {}",
                                   version, kHistoryVersion));
  }
  if (version != kHistoryVersion) in.fail("no version of an index");
  const Stretch found{.first_tick = in.u64_le(), .tick_count = in.u64_le()};
  if (in.ok() && found != stretch) in.fail("the index of another stretch");
  if (stretch.tick_count == 0 || stretch.tick_count > kStretchTicksMax) {
    in.fail("a stretch that is none");
  }

  HistoryBlob blob;
  blob.stretch_ = stretch;
  const std::array<Directory*, kTouchedKindCount + 1> all = {
      &blob.spaces_,         &blob.directories_[0], &blob.directories_[1],
      &blob.directories_[2], &blob.directories_[3], &blob.directories_[4]};
  // Sums of six products of 32 and 5 bits: nothing overflows.
  std::uint64_t offset = kHistoryHeadSize;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t count = in.u32_le();
    *all[i] = {static_cast<std::size_t>(offset), count, kHistoryRowSizes[i]};
    offset += std::uint64_t{count} * kHistoryRowSizes[i];
  }
  const std::uint32_t names_size = in.u32_le();
  const std::uint32_t postings_size = in.u32_le();
  VARVE_TRY(in.status("index of history"));
  if (offset + names_size + postings_size != bytes.size()) {
    return bad("its parts do not add up to its size");
  }
  blob.bytes_ = std::move(bytes);
  const ByteView view = blob.bytes_;
  blob.names_ = view.subspan(static_cast<std::size_t>(offset), names_size);
  blob.postings_ = view.last(postings_size);
  return blob;
}

std::uint32_t HistoryBlob::postings_offset(const Directory& directory,
                                           std::size_t i) const noexcept {
  return u32_at(row(directory, i) + directory.row_size - 4);
}

// --- Names -----------------------------------------------------------------------------

Result<std::string_view> HistoryBlob::name_at(std::uint32_t offset, std::size_t& end) const {
  if (offset >= names_.size()) return bad("a name that is not there");
  const auto size = std::to_integer<std::size_t>(names_[offset]);
  if (size > names_.size() - offset - 1) return bad("a name that is cut off");
  end = offset + 1 + size;
  return as_text(names_.subspan(offset + 1, size));
}

Result<std::string_view> HistoryBlob::name_of(const Directory& directory, std::size_t i) const {
  std::size_t end = 0;
  return name_at(u32_at(row(directory, i)), end);
}

Result<std::size_t> HistoryBlob::find_name(const Directory& directory,
                                           std::string_view name) const {
  bool is_bad = false;
  const std::size_t at = lower_row(directory.row_count, [&](std::size_t i) {
    const auto there = name_of(directory, i);
    is_bad = is_bad || !there;
    return there && *there < name;
  });
  if (is_bad) return bad("a name that is cut off");
  if (at == directory.row_count) return at;
  VARVE_ASSIGN(const std::string_view there, name_of(directory, at));
  return there == name ? at : directory.row_count;
}

// --- Looking up ------------------------------------------------------------------------

std::size_t HistoryBlob::find_chunk(std::uint32_t space, const ChunkPos& pos) const {
  const Directory& chunks = directory(TouchedKind::chunk);
  const ChunkRow wanted{space, pos.coordinate_count, pos.coordinates};
  const std::size_t at = lower_row(
      chunks.row_count, [&](std::size_t i) { return chunk_row_at(row(chunks, i)) < wanted; });
  const bool is_there = at < chunks.row_count && chunk_row_at(row(chunks, at)) == wanted;
  return is_there ? at : chunks.row_count;
}

Result<std::size_t> HistoryBlob::find(const TouchedKey& key) const {
  const Directory& rows = directory(key.kind);
  switch (key.kind) {
    case TouchedKind::chunk: {
      VARVE_ASSIGN(const std::size_t space, find_name(spaces_, key.pos.space.name()));
      if (space == spaces_.row_count) return rows.row_count;
      return find_chunk(static_cast<std::uint32_t>(space), key.pos);
    }
    case TouchedKind::player:
    case TouchedKind::global:
      return find_name(rows, key.name);
    case TouchedKind::entity:
    case TouchedKind::singleton:
      break;
  }
  const std::size_t at = lower_row(
      rows.row_count, [&](std::size_t i) { return id_at(row(rows, i), key.kind) < key.id; });
  const bool is_there = at < rows.row_count && id_at(row(rows, at), key.kind) == key.id;
  return is_there ? at : rows.row_count;
}

Status HistoryBlob::read_ticks(std::uint32_t offset, const TickRange& range,
                               std::vector<std::uint64_t>& out, std::size_t& end) const {
  if (offset >= postings_.size()) return bad("ticks that are not there");
  ByteReader in(postings_.subspan(offset));
  // One byte at least each: a list is never longer than what is there.
  const std::size_t count = in.count(minimal_varint(in, stretch_.tick_count), 1);
  if (in.ok() && count == 0) in.fail("a record no tick speaks of");
  const std::size_t size_before = out.size();
  std::uint64_t tick = stretch_.first_tick;
  const std::uint64_t last = stretch_.last_tick();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const std::uint64_t step = minimal_varint(in, last - tick);
    if (i != 0 && step == 0) in.fail("ticks that do not rise");
    tick += step;
    if (in.ok() && tick >= range.from && tick < range.to) out.push_back(tick);
  }
  end = offset + in.offset();
  Status read = in.status("index of history");
  if (!read) out.resize(size_before);
  return read;
}

Status HistoryBlob::ticks_of(const TouchedKey& key, const TickRange& range,
                             std::vector<std::uint64_t>& out) const {
  VARVE_ASSIGN(const std::size_t at, find(key));
  if (at == directory(key.kind).row_count) return {};
  return ticks_at(key.kind, at, range, out);
}

Status HistoryBlob::ticks_at(TouchedKind kind, std::size_t row, const TickRange& range,
                             std::vector<std::uint64_t>& out) const {
  std::size_t end = 0;
  return read_ticks(postings_offset(directory(kind), row), range, out, end);
}

Result<TouchedKey> HistoryBlob::key_at(TouchedKind kind, std::size_t i) const {
  const Directory& rows = directory(kind);
  TouchedKey key{.kind = kind};
  switch (kind) {
    case TouchedKind::chunk: {
      const ChunkRow found = chunk_row_at(row(rows, i));
      if (found.space >= spaces_.row_count) return bad("a space without a name");
      if (found.coordinate_count == 0 || found.coordinate_count > kCoordinateCountMax) {
        return bad("a position without coordinates");
      }
      for (std::size_t n = found.coordinate_count; n < kCoordinateCountMax; ++n) {
        if (found.coordinates[n] != 0) return bad("a coordinate too many");
      }
      VARVE_ASSIGN(const std::string_view name, name_of(spaces_, found.space));
      if (!name.empty()) {
        VARVE_ASSIGN(key.pos.space, Space::named(name));
      }
      key.pos.coordinate_count = static_cast<std::uint8_t>(found.coordinate_count);
      key.pos.coordinates = found.coordinates;
      return key;
    }
    case TouchedKind::player:
    case TouchedKind::global: {
      VARVE_ASSIGN(const std::string_view name, name_of(rows, i));
      if (!check_name(name)) return bad("a name that is none");
      key.name = name;
      return key;
    }
    case TouchedKind::entity:
    case TouchedKind::singleton:
      key.id = id_at(row(rows, i), kind);
      return key;
  }
  return key;
}

// --- Everything --------------------------------------------------------------------------

Status HistoryBlob::check_names(const Directory& directory, bool may_be_empty,
                                std::size_t& end) const {
  std::string_view before;
  for (std::size_t i = 0; i < directory.row_count; ++i) {
    if (u32_at(row(directory, i)) != end) return bad("names that do not follow each other");
    VARVE_ASSIGN(const std::string_view name, name_of(directory, i));
    end += 1 + name.size();
    const bool is_name = check_name(name) || (may_be_empty && name.empty());
    if (!is_name) return bad("a name that is none");
    if (i != 0 && name <= before) return bad("names that do not rise");
    before = name;
  }
  return {};
}

// Chunks rise by space, so that those which are used are counted by the last one.
Status HistoryBlob::check_spaces() const {
  const Directory& chunks = directory(TouchedKind::chunk);
  std::uint64_t used_count = 0;
  for (std::size_t i = 0; i < chunks.row_count; ++i) {
    const std::uint32_t space = chunk_row_at(row(chunks, i)).space;
    if (space > used_count) return bad("a space without chunks");
    if (space == used_count) ++used_count;
  }
  if (used_count != spaces_.row_count) return bad("a space without chunks");
  return {};
}

Status HistoryBlob::check_rows(TouchedKind kind, std::size_t& postings_end) const {
  const Directory& rows = directory(kind);
  TouchedKey before;
  std::vector<std::uint64_t> ticks;
  for (std::size_t i = 0; i < rows.row_count; ++i) {
    VARVE_ASSIGN(TouchedKey key, key_at(kind, i));
    if (i != 0 && !comes_before(before, key)) return bad("rows that do not rise");
    if (postings_offset(rows, i) != postings_end) return bad("ticks that do not follow each other");
    ticks.clear();
    VARVE_TRY(read_ticks(postings_offset(rows, i), {}, ticks, postings_end));
    before = std::move(key);
  }
  return {};
}

Status HistoryBlob::check() const {
  std::size_t names_end = 0;
  VARVE_TRY(check_names(spaces_, true, names_end));
  VARVE_TRY(check_spaces());
  VARVE_TRY(check_names(directory(TouchedKind::player), false, names_end));
  VARVE_TRY(check_names(directory(TouchedKind::global), false, names_end));
  if (names_end != names_.size()) return bad("names of nobody");
  std::size_t postings_end = 0;
  for (std::size_t kind = 0; kind < kTouchedKindCount; ++kind) {
    VARVE_TRY(check_rows(static_cast<TouchedKind>(kind), postings_end));
  }
  if (postings_end != postings_.size()) return bad("ticks of nobody");
  return {};
}

}  // namespace varve::journal
