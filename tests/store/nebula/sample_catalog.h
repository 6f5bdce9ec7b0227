// Catalogs for tests.
#pragma once

#include <string>

#include "base/byte_writer.h"
#include "store/nebula/catalog.h"

namespace varve::nebula::test {

inline RecordKey chunk_key(int x) { return {.kind = RecordKind::chunk, .pos = {0, x, -2, 0}}; }
inline RecordKey player_named(std::string name) {
  return {.kind = RecordKind::player, .name = std::move(name)};
}
inline RecordKey global_named(std::string name) {
  return {.kind = RecordKind::global, .name = std::move(name)};
}

// The worked example of docs/formats/nebula_v1.md: a commit that brings a chunk, takes a
// file of another program as it is and erases a player.
inline CatalogRecord example_record() {
  return {
      .kind = CatalogRecordKind::changes,
      .sequence = 17,
      .generation = 12,
      .tick = 300,
      .generator = GeneratorId{"hills", 3},
      .changes = {{chunk_key(3),
                   FileEntry{.id = {17, 0}, .payload_size = 11, .checksum = 0x0123456789abcdef}},
                  {global_named("file:world.ron"), FileEntry{.id = {2, 1}, .checked = false}},
                  {player_named("ann"), std::nullopt}}};
}

// Appends records as a store does.
class CatalogBytes {
 public:
  // Returns where the record begins.
  std::uint64_t add(const CatalogRecord& record) {
    const std::uint64_t offset = bytes_.size();
    bytes_.bytes(encode_record(record, offset).value());
    return offset;
  }
  Bytes take() { return bytes_.take(); }

 private:
  ByteWriter bytes_{kCatalogSizeMax};
};

inline FileEntry entry_of(std::uint64_t version, std::uint64_t number = 0) {
  return {.id = {version, number}, .payload_size = 5, .checksum = version * 1000 + number};
}

// A save that was made, changed twice and closed.
inline CatalogRecord first_record() {
  SaveIndex index;
  index.sequence = 4;
  index.apply({{chunk_key(1), entry_of(1, 0)},
               {chunk_key(2), entry_of(4, 0)},
               {scene_key(), entry_of(3, 0)},
               {player_named("ann"), entry_of(4, 1)}});
  index.generation = 3;
  index.tick = 30;
  return whole_record(index, {});
}

inline CatalogRecord change_record(std::uint64_t sequence, std::vector<IndexChange> changes) {
  return {.kind = CatalogRecordKind::changes,
          .sequence = sequence,
          .generation = sequence - 1,
          .tick = sequence * 10,
          .changes = std::move(changes)};
}

inline Bytes sample_catalog() {
  CatalogBytes file;
  file.add(first_record());
  file.add(change_record(5, {{chunk_key(1), entry_of(5, 0)}, {chunk_key(2), std::nullopt}}));
  file.add(change_record(6, {{chunk_key(3), entry_of(6, 0)}}));
  CatalogRecord closed = change_record(7, {});
  closed.kind = CatalogRecordKind::closed;
  closed.generation = 5;
  closed.tick = 60;
  file.add(closed);
  return file.take();
}

}  // namespace varve::nebula::test
