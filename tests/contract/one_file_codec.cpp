#include "contract/one_file_codec.h"

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "varve/checksum.h"

namespace varve::test {
namespace {

constexpr std::size_t kChecksumOffset = kOneFileMagic.size();
constexpr std::size_t kBodyOffset = kChecksumOffset + 8;

void write_blob(ByteWriter& w, ByteView bytes) {
  w.varint(bytes.size());
  w.bytes(bytes);
}

void write_pos(ByteWriter& w, const ChunkPos& pos) {
  write_blob(w, as_byte_view(pos.space.name()));
  w.u8(pos.coordinate_count);
  for (std::size_t i = 0; i < pos.coordinate_count; ++i) w.i32_le(pos[i]);
}

// Reads what write_blob() wrote, as a slice that keeps the file's bytes.
class Decoder {
 public:
  explicit Decoder(const Bytes& in) : in_(in), r_(in) { r_.skip(kBodyOffset); }

  ByteReader& reader() { return r_; }

  Bytes blob() {
    const std::uint64_t size = r_.varint();
    const std::size_t offset = r_.offset();
    return in_.slice(offset, r_.bytes(size).size());
  }

  std::string name() {
    std::string name(blob().text());
    if (r_.ok() && !check_name(name)) r_.fail("a bad name");
    return name;
  }

  ChunkPos pos() {
    ChunkPos pos;
    const auto space = Space::named(blob().text());
    if (space) {
      pos.space = *space;
    } else {
      r_.fail("a bad name of a space");
    }
    pos.coordinate_count = r_.u8();
    if (pos.coordinate_count < 1 || pos.coordinate_count > kCoordinateCountMax) {
      r_.fail("a bad number of coordinates");
      return {};
    }
    for (std::size_t i = 0; i < pos.coordinate_count; ++i) pos.coordinates[i] = r_.i32_le();
    return pos;
  }

  // Keys rise, so none is there twice.
  template <class Key>
  void rises(std::optional<Key>& last, const Key& key) {
    if (last && !(*last < key)) r_.fail("keys out of order");
    last = key;
  }

 private:
  const Bytes& in_;
  ByteReader r_;
};

void read_named(Decoder& in, const MapEdit& edit, PersistentMap<std::string, Bytes>& table) {
  ByteReader& r = in.reader();
  std::optional<std::string> last;
  for (std::size_t left = r.count(r.varint(), 2); left > 0 && r.ok(); --left) {
    const std::string name = in.name();
    in.rises(last, name);
    table.put(edit, name, in.blob());
  }
}

void read_entities(Decoder& in, const MapEdit& edit, RecordTables& tables) {
  ByteReader& r = in.reader();
  std::optional<EntityId> last;
  for (std::size_t left = r.count(r.varint(), 10); left > 0 && r.ok(); --left) {
    const EntityId id = r.u64_le();
    in.rises(last, id);
    EntityValue value;
    if (r.u8() != 0) value.owner = in.pos();
    value.data = in.blob();
    tables.put_entity(edit, id, std::move(value));
  }
}

}  // namespace

Bytes encode_one_file(const RecordTables& tables) {
  ByteWriter w;
  w.text(kOneFileMagic);
  w.u64_le(0);
  w.u64_le(tables.generation);
  w.u64_le(tables.tick);
  w.u8(tables.generator ? 1 : 0);
  if (tables.generator) {
    write_blob(w, as_byte_view(tables.generator->name));
    w.u32_le(tables.generator->version);
  }
  w.varint(tables.chunks.size());
  tables.chunks.visit([&](const ChunkPos& pos, const Bytes& payload) {
    write_pos(w, pos);
    write_blob(w, payload);
    return true;
  });
  w.varint(tables.entities.size());
  tables.entities.visit([&](EntityId id, const EntityValue& value) {
    w.u64_le(id);
    w.u8(value.owner ? 1 : 0);
    if (value.owner) write_pos(w, *value.owner);
    write_blob(w, value.data);
    return true;
  });
  for (const auto* table : {&tables.players, &tables.globals}) {
    w.varint(table->size());
    table->visit([&](const std::string& name, const Bytes& data) {
      write_blob(w, as_byte_view(name));
      write_blob(w, data);
      return true;
    });
  }
  w.patch_u64_le(kChecksumOffset, xxh3(w.view().subspan(kBodyOffset)));
  return w.take();
}

Result<SharedTables> decode_one_file(const Bytes& in, std::string_view path) {
  ByteReader head(in);
  head.expect(kOneFileMagic);
  const std::uint64_t checksum = head.u64_le();
  VARVE_TRY(head.status(path));
  if (checksum != xxh3(in.slice(kBodyOffset))) {
    return corruption(std::string(path) + ": the checksum does not match");
  }
  Decoder decoder(in);
  ByteReader& r = decoder.reader();
  auto tables = std::make_shared<RecordTables>();
  const MapEdit edit;
  tables->generation = r.u64_le();
  tables->tick = r.u64_le();
  if (r.u8() != 0) {
    tables->generator.emplace();
    tables->generator->name = decoder.blob().text();
    tables->generator->version = r.u32_le();
  }
  std::optional<ChunkPos> last;
  for (std::size_t left = r.count(r.varint(), 7); left > 0 && r.ok(); --left) {
    const ChunkPos pos = decoder.pos();
    decoder.rises(last, pos);
    tables->chunks.put(edit, pos, decoder.blob());
  }
  read_entities(decoder, edit, *tables);
  read_named(decoder, edit, tables->players);
  read_named(decoder, edit, tables->globals);
  VARVE_TRY(r.finish(path));
  return SharedTables(std::move(tables));
}

}  // namespace varve::test
