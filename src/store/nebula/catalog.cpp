#include "store/nebula/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "codec/postcard.h"
#include "varve/checksum.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

constexpr std::string_view kMagic = "NVCT";
constexpr std::uint8_t kCatalogVersion = 1;
constexpr std::size_t kHeaderSize = 32;
constexpr std::size_t kChecksumOffset = 24;

// Bits of an entry's first byte; the two lowest are its kind.
constexpr std::uint8_t kErased = 0x10;
constexpr std::uint8_t kUnchecked = 0x20;
constexpr std::uint8_t kPlaceholder = 0x40;
constexpr std::size_t kSceneEntrySizeMin = 1;
constexpr std::size_t kEntrySizeMin = 3;

// Covers the place, so that a record copied elsewhere in the file is none.
std::uint64_t checksum_of(ByteView record, std::uint64_t offset) {
  const std::uint64_t head = xxh3(record.first(kChecksumOffset), offset);
  return xxh3(record.subspan(kHeaderSize), head);
}

void write_key(PostcardWriter& out, const RecordKey& key) {
  switch (key.kind) {
    case RecordKind::chunk:
      out.u8(static_cast<std::uint8_t>(key.pos[0]));
      out.i32(key.pos[1]);
      out.i32(key.pos[2]);
      out.u8(static_cast<std::uint8_t>(key.pos[3]));
      return;
    case RecordKind::entity:
      return;
    case RecordKind::player:
    case RecordKind::global:
      out.text(key.name);
      return;
  }
}

RecordKey read_key(PostcardReader& in, RecordKind kind) {
  RecordKey key{.kind = kind};
  switch (kind) {
    case RecordKind::chunk: {
      const std::uint8_t face = in.u8();
      const std::int32_t x = in.i32();
      const std::int32_t y = in.i32();
      key.pos = ChunkPos(face, x, y, in.u8());
      if (face >= kFaceCount) in.bytes_below().fail("a face that is none");
      break;
    }
    case RecordKind::entity:
      break;
    case RecordKind::player:
    case RecordKind::global:
      key.name = in.text();
      if (in.ok() && !check_name(key.name)) in.bytes_below().fail("a name that is none");
      break;
  }
  return key;
}

void write_change(PostcardWriter& out, const IndexChange& change, std::uint64_t sequence) {
  std::uint8_t kind = static_cast<std::uint8_t>(change.key.kind);
  if (!change.entry) kind |= kErased;
  if (change.entry && !change.entry->checked) kind |= kUnchecked;
  if (change.entry && change.entry->placeholder) kind |= kPlaceholder;
  out.u8(kind);
  write_key(out, change.key);
  if (!change.entry) return;
  out.u64(sequence - change.entry->id.version);
  out.u64(change.entry->id.number);
  if (!change.entry->checked) return;
  out.u64(change.entry->payload_size);
  out.u64(change.entry->checksum);
}

IndexChange read_change(PostcardReader& in, std::uint64_t sequence) {
  const std::uint8_t bits = in.u8();
  if ((bits & ~(0x03 | kErased | kUnchecked | kPlaceholder)) != 0) {
    in.bytes_below().fail("an entry of an unknown kind");
  }
  IndexChange change{.key = read_key(in, static_cast<RecordKind>(bits & 0x03))};
  if ((bits & kErased) != 0) return change;
  const std::uint64_t age = in.u64();
  if (age > sequence) in.bytes_below().fail("a version before the first");
  FileEntry& entry = change.entry.emplace();
  entry.id = {sequence - age, in.u64()};
  entry.checked = (bits & kUnchecked) == 0;
  entry.placeholder = (bits & kPlaceholder) != 0;
  if (entry.checked) {
    entry.payload_size = in.u64();
    entry.checksum = in.u64();
  }
  return change;
}

struct Found {
  CatalogRecord record;
  std::uint64_t end_offset = 0;
};

Result<CatalogRecord> decode_body(ByteView body, CatalogRecordKind kind, std::uint64_t sequence) {
  PostcardReader in(body);
  CatalogRecord record{.kind = kind, .sequence = sequence};
  record.generation = in.u64();
  record.tick = in.u64();
  if (in.option()) {
    GeneratorId& generator = record.generator.emplace();
    generator.name = in.text();
    generator.version = in.u32();
  }
  // The shortest entry is the scene that was erased. It stands there once at most; all others
  // have a key.
  const std::size_t count = in.sequence(kSceneEntrySizeMin);
  record.changes.reserve(std::min(count, 1 + body.size() / kEntrySizeMin));
  bool has_scene = false;
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    record.changes.push_back(read_change(in, sequence));
    if (record.changes.back().key.kind != RecordKind::entity) continue;
    if (std::exchange(has_scene, true)) in.bytes_below().fail("the scene twice");
  }
  VARVE_TRY(in.finish("catalog record"));
  return record;
}

// How many bytes may be looked at to find records among damage. More means that somebody
// made the file so.
class Effort {
 public:
  explicit Effort(std::uint64_t file_size) : left_(4 * file_size) {}
  bool spend(std::uint64_t size) noexcept {
    if (size > left_) return false;
    left_ -= size;
    return true;
  }

 private:
  std::uint64_t left_;
};

// The record at `offset` if its sequence is above `behind`; nullopt if there is no valid one. An
// error only for a version of the future.
Result<std::optional<Found>> record_at(ByteView file, std::uint64_t offset,
                                       std::optional<std::uint64_t> behind, Effort& effort) {
  if (file.size() - offset < kHeaderSize) return std::nullopt;
  ByteReader in(file.subspan(offset));
  in.expect(kMagic);
  const std::uint8_t version = in.u8();
  const std::uint8_t kind = in.u8();
  in.skip(2);
  const std::uint64_t sequence = in.u64_le();
  const std::uint64_t body_size = in.u64_le();
  const std::uint64_t checksum = in.u64_le();
  if (!in.ok() || body_size > in.remaining()) return std::nullopt;
  if (sequence > kSequenceMax || (behind && sequence <= *behind)) return std::nullopt;
  if (!effort.spend(body_size)) return std::nullopt;
  const ByteView whole = file.subspan(offset, kHeaderSize + body_size);
  if (checksum_of(whole, offset) != checksum) return std::nullopt;
  if (version != kCatalogVersion) {
    return unsupported(
        fmt::format("catalog of version {}; this program knows {}. Open it with a newer one",
                    version, kCatalogVersion));
  }
  if (kind > static_cast<std::uint8_t>(CatalogRecordKind::closed)) return std::nullopt;
  auto record =
      decode_body(whole.subspan(kHeaderSize), static_cast<CatalogRecordKind>(kind), sequence);
  // Its checksum is right, so this is what somebody wrote, and not a record all the same.
  if (!record || record->generation > kSequenceMax) return std::nullopt;
  const std::uint64_t end = offset + whole.size();
  const std::uint64_t aligned = (end + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
  return Found{*std::move(record), aligned};
}

struct Place {
  std::uint64_t offset = 0;
  std::uint64_t sequence = 0;
};

// The first valid record from `offset` on whose sequence is above `behind`.
Result<std::optional<Place>> next_valid(ByteView file, std::uint64_t offset, std::uint64_t behind,
                                        Effort& effort) {
  for (; offset < file.size(); offset += kRecordAlignment) {
    VARVE_ASSIGN(const auto found, record_at(file, offset, behind, effort));
    if (found) return Place{offset, found->record.sequence};
  }
  return std::nullopt;
}

class Builder {
 public:
  void add(const CatalogRecord& record) {
    if (record.kind == CatalogRecordKind::whole) {
      index_ = {};
      erased_.clear();
    }
    for (const IndexChange& change : record.changes) {
      index_.apply(edit_, change);
      if (change.entry) {
        erased_.erase(change.key);
      } else {
        erased_.insert(change.key);
      }
    }
    index_.sequence = record.sequence;
    index_.generation = record.generation;
    index_.tick = record.tick;
    index_.generator = record.generator;
  }
  // A record is lost. It may have brought back what was erased before it.
  void skip_damage() { erased_.clear(); }
  std::uint64_t sequence() const noexcept { return index_.sequence; }
  void finish(Catalog& catalog) {
    catalog.index = std::move(index_);
    catalog.erased.assign(erased_.begin(), erased_.end());
  }

 private:
  MapEdit edit_;
  SaveIndex index_;
  KeySet erased_;
};

}  // namespace

CatalogRecord whole_record(const SaveIndex& index, const KeySet& erased) {
  CatalogRecord record{.kind = CatalogRecordKind::whole,
                       .sequence = index.sequence,
                       .generation = index.generation,
                       .tick = index.tick,
                       .generator = index.generator};
  record.changes.reserve(index.file_count() + erased.size());
  index.visit([&](const RecordKey& key, const FileEntry& entry) {
    record.changes.push_back({key, entry});
    return true;
  });
  for (const RecordKey& key : erased) {
    if (index.find(key) == nullptr) record.changes.push_back({key, std::nullopt});
  }
  return record;
}

CatalogRecord closed_record(const SaveIndex& index, std::uint64_t sequence) {
  return {.kind = CatalogRecordKind::closed,
          .sequence = sequence,
          .generation = index.generation,
          .tick = index.tick,
          .generator = index.generator};
}

Result<Bytes> encode_record(const CatalogRecord& record, std::uint64_t offset) {
  // Nobody gets here by saving; nobody would read it back.
  if (record.sequence > kSequenceMax || record.generation > kSequenceMax) {
    return unsupported("the catalog has counted to its end; convert the save to a new one");
  }
  ByteWriter out(kRecordSizeMax);
  out.text(kMagic);
  out.u8(kCatalogVersion);
  out.u8(static_cast<std::uint8_t>(record.kind));
  out.u16_le(0);
  out.u64_le(record.sequence);
  out.u64_le(0);  // body size
  out.u64_le(0);  // checksum
  PostcardWriter body(out);
  body.u64(record.generation);
  body.u64(record.tick);
  body.option(record.generator.has_value());
  if (record.generator) {
    body.text(record.generator->name);
    body.u32(record.generator->version);
  }
  body.sequence(record.changes.size());
  for (const IndexChange& change : record.changes) write_change(body, change, record.sequence);
  VARVE_TRY(out.status("catalog record"));
  out.patch_u64_le(16, out.size() - kHeaderSize);
  out.patch_u64_le(kChecksumOffset, checksum_of(out.view(), offset));
  out.align(kRecordAlignment);
  VARVE_TRY(out.status("catalog record"));
  return out.take();
}

Result<Catalog> decode_catalog(ByteView file) {
  Catalog catalog;
  Builder builder;
  Effort effort(file.size());
  bool any = false;
  std::uint64_t offset = 0;
  while (offset < file.size()) {
    const auto last = any ? std::optional(builder.sequence()) : std::nullopt;
    VARVE_ASSIGN(const auto found, record_at(file, offset, last, effort));
    const bool starts_well = any || (found && found->record.kind == CatalogRecordKind::whole) ||
                             catalog.damaged_offset.has_value();
    if (found && starts_well) {
      builder.add(found->record);
      any = true;
      catalog.end.is_closed = found->record.kind == CatalogRecordKind::closed;
      catalog.end.offset = catalog.end.is_closed ? offset : found->end_offset;
      if (found->record.kind == CatalogRecordKind::whole) {
        catalog.end.whole_size = found->end_offset - offset;
      }
      offset = found->end_offset;
      continue;
    }
    VARVE_ASSIGN(const auto next,
                 next_valid(file, offset + kRecordAlignment, last.value_or(0), effort));
    if (!next) break;
    if (!catalog.damaged_offset) catalog.damaged_offset = offset;
    builder.skip_damage();
    offset = next->offset;
    // What the lost record said came before this one.
    catalog.damaged_sequence = next->sequence - 1;
  }
  if (!any) return corruption("the catalog has no valid record");
  catalog.has_torn_tail = offset < file.size();
  builder.finish(catalog);
  return catalog;
}

}  // namespace varve::nebula
