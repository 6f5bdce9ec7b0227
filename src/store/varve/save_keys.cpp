#include "store/varve/save_keys.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/try.h"

namespace varve {
namespace {

// With a tag no more than 255 bytes.
constexpr std::size_t kShortNameSizeMax = 254;
constexpr std::size_t kLongNamePartSize = 238;

// So that negative coordinates sort before positive ones.
constexpr std::uint32_t kSignBit = 0x8000'0000u;

Error bad_key(std::string_view what) {
  return corruption(std::string("the key of a record: ") + std::string(what));
}

Result<PlacedChunk> read_position(ByteReader& in) {
  PlacedChunk placed;
  placed.space = in.u16_be();
  const std::uint8_t count = in.u8();
  if (!in.ok() || count < 1 || count > kCoordinateCountMax) return bad_key("no position");
  placed.pos.coordinate_count = count;
  const auto bits = region_bits(count);
  std::array<std::int64_t, kCoordinateCountMax> regions = {};
  for (std::size_t i = 0; i < count; ++i) {
    regions[i] = static_cast<std::int32_t>(in.u32_be() ^ kSignBit);
  }
  unsigned local = in.u8();
  if (!in.ok()) return bad_key("a position that is cut short");
  for (std::size_t i = count; i-- > 0;) {
    const std::int64_t low = local & ((1u << bits[i]) - 1);
    local >>= bits[i];
    const std::int64_t coordinate = regions[i] * (std::int64_t{1} << bits[i]) + low;
    if (coordinate != static_cast<std::int32_t>(coordinate)) return bad_key("a region too far out");
    placed.pos.coordinates[i] = static_cast<std::int32_t>(coordinate);
  }
  return placed;
}

}  // namespace

SaveKey& SaveKey::bytes(ByteView value) {
  std::copy(value.begin(), value.end(), bytes_.begin() + size_);
  size_ = static_cast<std::uint8_t>(size_ + value.size());
  return *this;
}

SaveKey& SaveKey::position(SpaceNumber space, const ChunkPos& pos) {
  u16(space).u8(pos.coordinate_count);
  const auto bits = region_bits(pos.coordinate_count);
  unsigned local = 0;
  for (std::size_t i = 0; i < pos.coordinate_count; ++i) {
    const std::int32_t coordinate = pos.coordinates[i];
    u32(static_cast<std::uint32_t>(coordinate >> bits[i]) ^ kSignBit);
    local = local << bits[i] | (static_cast<unsigned>(coordinate) & ((1u << bits[i]) - 1));
  }
  return u8(static_cast<std::uint8_t>(local));
}

SaveKey header_key() { return SaveKey(KeyTag::header); }
SaveKey header_copy_key() { return SaveKey(KeyTag::header_copy); }
SaveKey space_key(SpaceNumber number) { return SaveKey(KeyTag::space).u16(number); }
SaveKey generator_key(std::uint32_t number) { return SaveKey(KeyTag::generator).u32(number); }
SaveKey dictionary_key(std::uint32_t number) { return SaveKey(KeyTag::dictionary).u32(number); }

SaveKey shared_payload_key(const Hash128& hash) {
  return SaveKey(KeyTag::shared_payload).u64(hash.high).u64(hash.low);
}

SaveKey shared_count_key(const Hash128& hash) {
  return SaveKey(KeyTag::shared_count).u64(hash.high).u64(hash.low);
}

SaveKey chunk_key(SpaceNumber space, const ChunkPos& pos) {
  // Made in place: a key is large to copy.
  SaveKey key(KeyTag::chunk);
  key.position(space, pos);
  return key;
}

SaveKey chunk_prefix(KeyTag tag, SpaceNumber space, std::uint8_t coordinate_count) {
  return SaveKey(tag).u16(space).u8(coordinate_count);
}

SaveKey entity_place_key(EntityId id) { return SaveKey(KeyTag::entity_place).u64(id); }

SaveKey entity_key_of(const std::optional<PlacedChunk>& owner, EntityId id) {
  if (!owner) return SaveKey(KeyTag::free_entity).u64(id);
  return owned_entities_prefix(owner->space, owner->pos).u64(id);
}

SaveKey owned_entities_prefix(SpaceNumber space, const ChunkPos& owner) {
  return SaveKey(KeyTag::owned_entity).position(space, owner);
}

bool is_long_name(std::string_view name) noexcept { return name.size() > kShortNameSizeMax; }

SaveKey named_key(RecordKind kind, std::string_view name) {
  const bool is_player = kind == RecordKind::player;
  if (!is_long_name(name)) {
    return SaveKey(is_player ? KeyTag::player : KeyTag::global).bytes(as_byte_view(name));
  }
  return SaveKey(is_player ? KeyTag::long_player : KeyTag::long_global)
      .bytes(as_byte_view(name.substr(0, kLongNamePartSize)))
      .u64(xxh3(as_byte_view(name)))
      .u64(xxh3(as_byte_view(name), 1));
}

Bytes encode_place(const std::optional<PlacedChunk>& place) {
  if (!place) return {};
  // Its bytes are those of a key behind the tag.
  return Bytes::copy_of(chunk_key(place->space, place->pos).view().subspan(1));
}

Result<std::optional<PlacedChunk>> decode_place(ByteView in) {
  if (in.empty()) return std::nullopt;
  ByteReader reader(in);
  VARVE_ASSIGN(const PlacedChunk placed, read_position(reader));
  if (reader.remaining() != 0) return bad_key("bytes behind a position");
  return placed;
}

Result<PlacedChunk> decode_chunk_key(ByteView key) {
  ByteReader reader(key);
  reader.skip(1);
  VARVE_ASSIGN(PlacedChunk placed, read_position(reader));
  if (reader.remaining() != 0) return bad_key("bytes behind a position");
  return placed;
}

Result<OwnedEntityKey> decode_owned_entity_key(ByteView key) {
  ByteReader reader(key);
  reader.skip(1);
  VARVE_ASSIGN(const PlacedChunk owner, read_position(reader));
  const EntityId id = reader.u64_be();
  if (!reader.ok() || reader.remaining() != 0) return bad_key("no id behind the owner");
  return OwnedEntityKey{owner, id};
}

Result<EntityId> decode_entity_key(ByteView key) {
  ByteReader reader(key);
  reader.skip(1);
  const EntityId id = reader.u64_be();
  if (!reader.ok() || reader.remaining() != 0) return bad_key("no id");
  return id;
}

Result<Hash128> decode_shared_key(ByteView key) {
  ByteReader reader(key);
  reader.skip(1);
  const std::uint64_t high = reader.u64_be();
  const std::uint64_t low = reader.u64_be();
  if (!reader.ok() || reader.remaining() != 0) return bad_key("no hash");
  return Hash128{.high = high, .low = low};
}

Result<std::uint32_t> decode_number_key(ByteView key, std::size_t size) {
  ByteReader reader(key);
  reader.skip(1);
  const std::uint32_t number = size == 2 ? reader.u16_be() : reader.u32_be();
  if (!reader.ok() || reader.remaining() != 0) return bad_key("no number");
  return number;
}

}  // namespace varve
