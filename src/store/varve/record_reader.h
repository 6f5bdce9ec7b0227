// Reads the records of a save from its backend: of the newest generation, or of a snapshot.
//
// Thread safety: const; any number of threads, beside a commit.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/varve/frame_hints.h"
#include "store/varve/save_header.h"
#include "store/varve/save_tables.h"
#include "store/varve/stray_records.h"
#include "varve/backend.h"
#include "varve/store.h"

namespace varve {

// What the generator makes of a position. It is the game's own and may throw.
Result<Bytes> generate_guarded(const Generator& generator, const ChunkPos& pos);

class RecordReader {
 public:
  // Both must outlive it. `is_verified`: the backend has compared values with checksums of its own.
  // Chunks that are read are noted in `hints`, if it is not null.
  RecordReader(const ReadView& view, const SaveTables& tables, bool is_verified,
               FrameHints* hints = nullptr)
      : view_(view), tables_(tables), is_verified_(is_verified), hints_(hints) {}

  Result<std::optional<Bytes>> read_chunk(const ChunkPos& pos) const;
  Result<std::optional<Entity>> read_entity(EntityId id) const;
  Result<std::optional<Bytes>> read_named(RecordKind kind, std::string_view name) const;

  // These go through several pages, so the view must be a snapshot. Listings are in
  // record_listing.cpp.
  Result<std::vector<Entity>> read_entities_of(const ChunkPos& owner) const;
  Status list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const;
  Status list_entities(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const;
  Status list_named(RecordKind kind, const Visitor<NamedInfo>& visit) const;

  // Where an entity is; nullopt if there is none of that id. Outer: whether there is one.
  struct EntityPlace {
    std::optional<PlacedChunk> owner;
  };
  Result<std::optional<EntityPlace>> find_entity(EntityId id) const;

  // corruption if there are chunks in spaces the table lacks: records are lost, and these may not
  // be the only ones.
  Status check_chunks_are_somewhere() const;

  // All records of an entity's data, wherever they are: for one whose place is damaged. Goes
  // through all entities.
  Result<std::vector<Bytes>> find_entity_keys(EntityId id) const;

  // The payload in a frame that was found under `key`; of a chunk also where it is, for deltas and
  // for payloads that are shared.
  Result<Bytes> decode(ByteView key, const Bytes& frame, const ChunkPos* pos) const;
  // The same for the record of a name that is too long for its key.
  static Result<Bytes> strip_long_name(std::string_view name, const Bytes& payload);

 private:
  Result<Bytes> decode_shared(ByteView key, const Bytes& reference, const ChunkPos& pos) const;
  Result<Bytes> decode_frame(ByteView key, const Bytes& frame, const ChunkPos* pos) const;
  // nullopt if nothing was ever saved there; corruption if nobody can tell.
  Result<std::optional<SpaceNumber>> number_of(const ChunkPos& pos) const;
  // nullopt for none, and for one in a space the table lacks.
  std::optional<ChunkPos> owner_of(const std::optional<PlacedChunk>& place) const;

  // Chunks in spaces the table lacks, and keys of chunks that are no positions: all that is between
  // what a listing goes through.
  Status count_chunks_nowhere(StrayRecords& strays) const;
  Status list_all_entities(const Visitor<EntityInfo>& visit) const;
  Status list_entities_in(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const;

  const ReadView& view_;
  const SaveTables& tables_;
  const bool is_verified_;
  FrameHints* const hints_;
};

}  // namespace varve
