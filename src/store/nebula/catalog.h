// The catalog of a save as bytes: what it consists of, and what each commit changed.
//
// A file of records, each at a multiple of 4096 bytes. The first lists every file; each
// commit appends what it changed; closing appends a mark. docs/formats/nebula_v1.md has
// the fields.
//
// A record is valid if and only if its magic, its length and its checksum, which covers the
// place it stands at, are right and its sequence is above that of the record before it. A
// commit is part of the save if and only if its record is valid and no commit before it is
// missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/nebula/save_index.h"
#include "varve/bytes.h"

namespace varve::nebula {

// A record never shares a sector with one that was durable before it: a torn write
// harms nothing but itself.
inline constexpr std::uint64_t kRecordAlignment = 4096;
// Of one record: room for eight million files.
inline constexpr std::uint64_t kRecordSizeMax = std::uint64_t{1} << 28;
// Of the file. One that was appended to is rewritten long before.
inline constexpr std::uint64_t kCatalogSizeMax = std::uint64_t{1} << 30;
// Sequences and generations beyond are nobody's: counting on could run over.
inline constexpr std::uint64_t kSequenceMax = std::uint64_t{1} << 62;

enum class CatalogRecordKind : std::uint8_t {
  whole = 0,    // every file there is, and what may be left of others
  changes = 1,  // one commit
  closed = 2,   // the writer finished; nothing is staged
};

struct CatalogRecord {
  CatalogRecordKind kind = CatalogRecordKind::changes;
  std::uint64_t sequence = 0;
  std::uint64_t generation = 0;
  std::uint64_t tick = 0;
  std::optional<GeneratorId> generator = {};
  std::vector<IndexChange> changes = {};
};

// The record that lists all of an index, and what was erased and may still be there.
CatalogRecord whole_record(const SaveIndex& index, const KeySet& erased);

// The mark that nothing is left to do for an index.
CatalogRecord closed_record(const SaveIndex& index, std::uint64_t sequence);

// The record as it stands at `offset`, filled up to the alignment.
Result<Bytes> encode_record(const CatalogRecord& record, std::uint64_t offset);

struct CatalogEnd {
  // Where the next record goes: behind the last one, or in the place of the mark that the
  // save was closed. Whether that is durable nobody can tell who reads it, and a record
  // behind one that a crash takes would be lost with it.
  std::uint64_t offset = 0;
  std::uint64_t whole_size = 0;  // of the record that lists everything
  bool is_closed = false;        // the last record says so
};

struct Catalog {
  SaveIndex index;
  // What was erased, as the record that lists everything or one since (or since the damage)
  // says, and is not there again.
  std::vector<RecordKey> erased;
  CatalogEnd end = {};
  // Bytes at the end that are no valid record: a commit that was not finished.
  bool has_torn_tail = false;
  // Bytes that are no valid record, with valid ones behind them: not a crash, but damage.
  // The index then has what could be read; entries of records up to `damaged_sequence`
  // may be older than what the lost record said.
  std::optional<std::uint64_t> damaged_offset = {};
  std::uint64_t damaged_sequence = 0;
};

// Corruption if there is not one valid record. Unsupported if it is of a later version.
Result<Catalog> decode_catalog(ByteView file);

}  // namespace varve::nebula
