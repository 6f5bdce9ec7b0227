// Records of all four kinds through one door.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "varve/bytes.h"
#include "varve/key.h"
#include "varve/store.h"

namespace varve::tool {

inline constexpr RecordKind kKinds[] = {RecordKind::chunk, RecordKind::entity, RecordKind::player,
                                        RecordKind::global};
inline constexpr std::size_t kKindCount = std::size(kKinds);

struct RecordInfo {
  RecordKey key = {};
  std::optional<ChunkPos> owner = {};  // of an entity
  std::uint64_t size = 0;
};

struct Record {
  std::optional<ChunkPos> owner = {};
  Bytes data = {};
};

struct RecordFilter {
  std::optional<RecordKind> kind = {};
  // If it is not empty: chunks, and the entities that stand in them.
  ChunkFilter place = {};

  bool admits(RecordKind of) const noexcept;
};

// Whether a failed read costs the record that was read and no other: it is damaged, it is of a
// newer program, or the disk cannot give it back any more.
bool is_of_record(const Error& error);

// What is damaged is kept aside before it is replaced or erased.
Status keep_aside_if_damaged(Store& store, const RecordKey& key);

// Chunks, entities, players, globals, each sorted as a listing is. Stops early if the
// visitor, which may read, returns false.
//
// A kind whose list is damaged costs that kind: it is returned as a problem with the
// key "entity:*", and the others are listed.
Result<std::vector<RecordProblem>> list_records(
    const StoreView& view, const RecordFilter& filter,
    const std::function<bool(const RecordInfo&)>& visit);

Result<std::uint64_t> count_records(const StoreView& view);

// nullopt if there is none. The error does not name the record.
Result<std::optional<Record>> read_record(const StoreView& view, const RecordKey& key);

// Adds the change to a commit: a put, or with nullopt an erasure.
void add_change(Commit& commit, const RecordKey& key, std::optional<Record> record);

}  // namespace varve::tool
