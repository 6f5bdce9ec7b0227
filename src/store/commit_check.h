// What a store asks of a commit before it writes a byte, and a world of a record before it
// takes it, so that one record is refused in the same words wherever it is.
//
// - invalid_argument: a key twice, a bad name, a position that is none, a tick that runs
//   backwards.
// - unsupported: a put of what the format cannot carry, or of more than it can. Erasing
//   such a record is no error: it cannot be there, so stores must expect it and find
//   nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "varve/store.h"

namespace varve {

// Success if a store with these capabilities, which is at `store_tick`, may take the
// commit. The error names the record.
Status check_commit(const Commit& commit, const Capabilities& can, std::uint64_t store_tick);

// The same for one record, before there is a commit; nullopt erases.
Status check_entity(EntityId id, const std::optional<EntityValue>& value, const Capabilities& can);
// A player or a global, as `kind` says.
Status check_named(RecordKind kind, std::string_view name, const std::optional<Bytes>& data,
                   const Capabilities& can);
// Of a chunk its position alone: how large it is shows when it is encoded.
Status check_position(const ChunkPos& pos, const Capabilities& can);
Error too_large(std::string_view key, std::uint64_t size, const Capabilities& can);

}  // namespace varve
