#include <fmt/format.h>

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/columns.h"
#include "journal/mutation_lists.h"
#include "journal/positions.h"
#include "journal/snapshot_codec.h"
#include "varve/checksum.h"

namespace varve {

using journal::EntityPage;

Bytes SnapshotCodec::read_value() {
  const std::uint64_t size = minimal_varint(in_, journal::kValueSizeMax);
  const std::size_t offset = in_.offset();
  in_.skip(size);
  return in_.ok() ? data_.slice(offset, static_cast<std::size_t>(size)) : Bytes();
}

void SnapshotCodec::read_components(EntityId entity) {
  EntityState::Parts& parts = *state_.parts_;
  EntityPage& page = parts.pages.own(*parts.edit, entity_index(entity));
  const std::size_t count = in_.count(minimal_varint(in_, journal::kValueSizeMax), 2);
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < count && in_.ok(); ++i) {
    const std::uint64_t component = next + minimal_varint(in_, 0xffff'ffff);
    if (component > 0xffff'ffff) in_.fail("a component above its limit");
    next = component + 1;
    const Bytes value = read_value();
    if (!in_.ok()) return;
    page.put(EntityPage::slot_of(entity), static_cast<ComponentId>(component), value);
  }
}

void SnapshotCodec::read_entities(std::uint64_t count) {
  // A number, a position and a count of components each.
  count = in_.count(count, 10);
  journal::PositionReader positions(spaces_, in_);
  std::uint64_t next_index = 0;
  for (std::uint64_t i = 0; i < count && in_.ok(); ++i) {
    const EntityId entity = in_.u64_le();
    const auto chunk = positions.read();
    if (in_.ok() && entity_index(entity) < next_index) in_.fail("entities that do not rise");
    if (!in_.ok()) return;
    next_index = std::uint64_t{entity_index(entity)} + 1;
    state_.parts_->spawn(entity, chunk);
    read_components(entity);
  }
}

void SnapshotCodec::read_singletons(std::uint32_t count) {
  EntityState::Parts& parts = *state_.parts_;
  const std::size_t checked_count = in_.count(count, 2);
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < checked_count && in_.ok(); ++i) {
    const std::uint64_t component = next + minimal_varint(in_, 0xffff'ffff);
    if (component > 0xffff'ffff) in_.fail("a component above its limit");
    next = component + 1;
    const Bytes value = read_value();
    if (!in_.ok()) return;
    parts.singletons.put(*parts.edit, static_cast<ComponentId>(component), journal::kept(value));
  }
}

// The section says again what the entities have said; a writer that got one of them wrong is found
// here.
void SnapshotCodec::check_chunks() {
  const journal::ChunkIndex& chunks = state_.parts_->chunks;
  const std::size_t count = in_.count(in_.u32_le(), 4);
  if (in_.ok() && count != chunks.chunk_count()) in_.fail("other chunks than the entities are in");
  journal::PositionReader positions(spaces_, in_);
  std::optional<ChunkPos> previous;
  std::vector<EntityId> entities;
  for (std::size_t i = 0; i < count && in_.ok(); ++i) {
    const ChunkPos pos = positions.read_somewhere();
    if (previous && pos <= *previous) in_.fail("chunks that do not rise");
    previous = pos;
    entities.clear();
    journal::read_entities(in_, journal::read_count(in_), entities);
    const std::vector<EntityId>* const expected = chunks.find(pos);
    if (in_.ok() && (expected == nullptr || *expected != entities)) {
      in_.fail("a chunk with other entities than say they are in it");
    }
  }
}

void SnapshotCodec::read_used_up() {
  const std::size_t count = in_.count(minimal_varint(in_, 0xffff'ffff), 1);
  if (count == 0) return;
  std::vector<EntityId> gone;
  journal::read_entities(in_, count, gone);
  if (!in_.ok()) return;
  for (const EntityId entity : gone) {
    const EntityPage* const page = state_.parts_->pages.find(entity_index(entity));
    if (page != nullptr && (page->used >> EntityPage::slot_of(entity) & 1) != 0) {
      return in_.fail("an index that is used up and in use, or used up twice");
    }
    state_.parts_->pass(entity);
  }
}

void SnapshotCodec::read_names(EntityState::Parts::Names& out) {
  const std::size_t count = in_.count(minimal_varint(in_, journal::kValueSizeMax), 3);
  std::string previous;
  for (std::size_t i = 0; i < count && in_.ok(); ++i) {
    const std::string_view name = journal::read_name(in_);
    if (in_.ok() && name <= previous) in_.fail("names that do not rise");
    const Bytes value = read_value();
    if (!in_.ok()) return;
    previous = name;
    out.put(*state_.parts_->edit, previous, journal::kept(value));
  }
}

Result<Snapshot> SnapshotCodec::read(const Bytes& data) {
  SnapshotCodec codec(data);
  ByteReader& in = codec.in_;
  in.expect(kMagic);
  const std::uint16_t version = in.u16_le();
  const std::uint64_t tick = in.u64_le();
  const std::uint64_t entity_count = in.u64_le();
  const std::uint32_t singleton_count = in.u32_le();
  const std::uint32_t checksum = in.u32_le();
  VARVE_TRY(in.status("snapshot"));
  // Before anything in it is believed, the version too.
  constexpr std::byte kZeros[4] = {};
  const ByteView all = data;
  const std::uint32_t found =
      crc32(all.subspan(kHeaderSize), crc32(kZeros, crc32(all.first(kChecksumOffset))));
  if (found != checksum) {
    return corruption(fmt::format("snapshot: checksum {:08x}, expected {:08x}", found, checksum));
  }
  if (version > kVersion) {
    return unsupported(
        fmt::format("snapshot: version {}; this program reads up to {}", version, kVersion));
  }
  if (version != kVersion) in.fail("no version of snapshots");
  EntityState::Parts& parts = codec.state_.parts_to_change();
  codec.read_entities(entity_count);
  codec.read_singletons(singleton_count);
  codec.check_chunks();
  codec.read_used_up();
  codec.read_names(parts.players);
  codec.read_names(parts.globals);
  VARVE_TRY(in.finish("snapshot"));
  return Snapshot{.tick = tick, .state = std::move(codec.state_)};
}

Result<Snapshot> decode_snapshot(const Bytes& data) {
  return or_out_of_memory([&] { return SnapshotCodec::read(data); });
}

}  // namespace varve
