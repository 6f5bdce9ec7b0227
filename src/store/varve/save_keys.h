// What the records of a save are called in its backend. docs/formats/varve_v1.md#keys has every
// byte.
//
// Invariants:
// 1. Keys of one kind stand together, and so do the chunks of one region of one space: a region is
//    a block of at most 256 chunks whose keys differ in their last byte alone.
// 2. No two records have the same key, and no key is longer than 255 bytes.
// 3. What decodes encodes to the same bytes again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/endian.h"
#include "varve/bytes.h"
#include "varve/checksum.h"
#include "varve/key.h"
#include "varve/result.h"

namespace varve {

// The first byte of a key. A number keeps its meaning for ever.
enum class KeyTag : std::uint8_t {
  header = 0x01,
  space = 0x02,
  generator = 0x03,
  dictionary = 0x04,
  shared_payload = 0x05,
  shared_count = 0x06,
  quarantine = 0x08,
  chunk = 0x10,
  entity_place = 0x20,
  owned_entity = 0x21,
  free_entity = 0x22,
  player = 0x30,
  long_player = 0x31,
  global = 0x38,
  long_global = 0x39,
  // Behind all others, since a backend that sorts its records on the disk has it far from the
  // header then.
  header_copy = 0xf1,
};

// A space is a number in the keys of a save, and its table says which name that is.
using SpaceNumber = std::uint16_t;

// How many low bits of each coordinate are in the last byte of a key.
constexpr std::array<std::uint8_t, kCoordinateCountMax> region_bits(std::uint8_t coordinate_count) {
  switch (coordinate_count) {
    case 1:
      return {8, 0, 0, 0};
    case 2:
      return {4, 4, 0, 0};
    case 3:
      return {3, 3, 2, 0};
    default:
      return {2, 2, 2, 2};
  }
}

// A position with its space as a number.
struct PlacedChunk {
  SpaceNumber space = 0;
  ChunkPos pos = {};  // its space does not count
};

// A key that is being made. It needs no memory of its own.
class SaveKey {
 public:
  ByteView view() const noexcept { return {bytes_.data(), size_}; }
  operator ByteView() const noexcept { return view(); }  // NOLINT(google-explicit-constructor)
  Bytes copy() const { return Bytes::copy_of(view()); }

  explicit SaveKey(KeyTag tag) { u8(static_cast<std::uint8_t>(tag)); }
  SaveKey& u8(std::uint8_t value) { return fixed(value); }
  SaveKey& u16(std::uint16_t value) { return fixed(value); }
  SaveKey& u32(std::uint32_t value) { return fixed(value); }
  SaveKey& u64(std::uint64_t value) { return fixed(value); }
  SaveKey& bytes(ByteView value);
  SaveKey& position(SpaceNumber space, const ChunkPos& pos);

 private:
  template <class T>
  SaveKey& fixed(T value) {
    store_be(bytes_.data() + size_, value);
    size_ = static_cast<std::uint8_t>(size_ + sizeof value);
    return *this;
  }

  std::array<std::byte, 255> bytes_;
  std::uint8_t size_ = 0;
};

SaveKey header_key();
SaveKey header_copy_key();
SaveKey space_key(SpaceNumber number);
SaveKey generator_key(std::uint32_t number);
SaveKey dictionary_key(std::uint32_t number);
// A payload that several chunks share, and how many they are.
SaveKey shared_payload_key(const Hash128& hash);
SaveKey shared_count_key(const Hash128& hash);
SaveKey chunk_key(SpaceNumber space, const ChunkPos& pos);
// The prefix of all chunks of a space with so many coordinates.
SaveKey chunk_prefix(KeyTag tag, SpaceNumber space, std::uint8_t coordinate_count);
SaveKey entity_place_key(EntityId id);
// Without an owner: apart from all others.
SaveKey entity_key_of(const std::optional<PlacedChunk>& owner, EntityId id);
SaveKey owned_entities_prefix(SpaceNumber space, const ChunkPos& owner);
// A name of 255 bytes leaves no room for a tag; its key then has its beginning and a hash.
SaveKey named_key(RecordKind kind, std::string_view name);
bool is_long_name(std::string_view name) noexcept;

// A position without a tag, as the record of an entity's place holds it; empty for none.
Bytes encode_place(const std::optional<PlacedChunk>& place);
Result<std::optional<PlacedChunk>> decode_place(ByteView in);

struct OwnedEntityKey {
  PlacedChunk owner;
  EntityId id = 0;
};
// These expect the tag to be there and fitting; anything else that is wrong is corruption.
Result<PlacedChunk> decode_chunk_key(ByteView key);
Result<OwnedEntityKey> decode_owned_entity_key(ByteView key);
Result<EntityId> decode_entity_key(ByteView key);  // of a place or a free entity
Result<Hash128> decode_shared_key(ByteView key);   // of a shared payload or its count
Result<std::uint32_t> decode_number_key(ByteView key, std::size_t size);

}  // namespace varve
