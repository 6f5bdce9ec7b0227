#include "base/guarded.h"
#include "base/try.h"
#include "journal/columns.h"
#include "journal/positions.h"
#include "journal/snapshot_codec.h"
#include "varve/checksum.h"

namespace varve {
namespace {

using journal::EntityPage;

void write_value(ByteView value, ByteWriter& out) {
  out.varint(value.size());
  out.bytes(value);
}

void write_names(const std::vector<std::pair<std::string, Bytes>>& names, ByteWriter& out,
                 const std::function<void()>& on_piece) {
  out.varint(names.size());
  for (const auto& [name, value] : names) {
    journal::write_name(name, out);
    write_value(value, out);
    on_piece();
  }
}

// Those whose last generation is gone.
std::vector<EntityId> used_up(const journal::PageTree& pages) {
  std::vector<EntityId> out;
  pages.visit([&](std::uint32_t first_index, const EntityPage& page) {
    for (std::uint64_t left = page.used & ~page.alive; left != 0; left &= left - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(left));
      out.push_back(make_entity(first_index + slot, page.generations[slot]));
    }
    return true;
  });
  return out;
}

}  // namespace

void SnapshotCodec::write_header(std::uint64_t tick, const EntityState& state, ByteWriter& out) {
  out.text(kMagic);
  out.u16_le(kVersion);
  out.u64_le(tick);
  out.u64_le(state.entity_count());
  out.u32_le(static_cast<std::uint32_t>(state.singleton_count()));
  out.u32_le(0);  // The checksum, of this 0 too.
}

void SnapshotCodec::write_body(const EntityState& state, ByteWriter& out,
                               const std::function<void()>& on_piece) {
  const EntityState::Parts& parts = state.parts();
  journal::SpaceNumbers spaces;
  {
    journal::PositionWriter positions(spaces, out);
    state.for_each([&](const EntityView& entity) {
      out.u64_le(entity.entity);
      positions.write(entity.chunk);
      out.varint(entity.components.size());
      ComponentId next = 0;
      for (const ComponentView& component : entity.components) {
        out.varint(component.component - next);
        next = component.component + 1;
        write_value(component.value, out);
      }
      on_piece();
      return true;
    });
  }
  ComponentId next = 0;
  for (const auto& [component, value] : state.singletons()) {
    out.varint(component - next);
    next = component + 1;
    write_value(value, out);
  }
  out.u32_le(static_cast<std::uint32_t>(parts.chunks.chunk_count()));
  {
    journal::PositionWriter positions(spaces, out);
    parts.chunks.visit([&](const ChunkPos& pos, const std::vector<EntityId>& entities) {
      positions.write(pos);
      out.varint(entities.size());
      journal::write_entities(entities.size(), [&](std::size_t i) { return entities[i]; }, out);
      on_piece();
      return true;
    });
  }
  const std::vector<EntityId> gone = used_up(parts.pages);
  out.varint(gone.size());
  if (!gone.empty()) {
    journal::write_entities(gone.size(), [&](std::size_t i) { return gone[i]; }, out);
  }
  write_names(state.players(), out, on_piece);
  write_names(state.globals(), out, on_piece);
}

Result<Bytes> encode_snapshot(std::uint64_t tick, const EntityState& state) {
  return or_out_of_memory([&]() -> Result<Bytes> {
    ByteWriter out;
    SnapshotCodec::write_header(tick, state, out);
    SnapshotCodec::write_body(state, out, [] {});
    VARVE_TRY(out.status("snapshot"));
    out.patch_u32_le(SnapshotCodec::kChecksumOffset, crc32(out.view()));
    return out.take();
  });
}

std::uint64_t EntityState::digest() const {
  // A piece at a time, so that it takes little memory. Where pieces end follows from what they
  // hold.
  constexpr std::size_t kPieceSize = std::size_t{1} << 16;
  ByteWriter out;
  SnapshotCodec::write_header(0, *this, out);
  std::uint64_t hash = 0;
  SnapshotCodec::write_body(*this, out, [&] {
    if (out.size() < kPieceSize) return;
    hash = xxh3(out.view(), hash);
    out.clear();
  });
  return xxh3(out.view(), hash);
}

}  // namespace varve
