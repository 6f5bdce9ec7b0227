// The calls of a World about chunks.
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "world/world_core.h"

namespace varve {

std::string_view to_string(ChunkState state) noexcept {
  switch (state) {
    case ChunkState::absent:
      return "absent";
    case ChunkState::loading:
      return "loading";
    case ChunkState::clean:
      return "clean";
    case ChunkState::dirty:
      return "dirty";
    case ChunkState::persisted:
      return "persisted";
  }
  return "unknown";
}

ChunkRef World::get(const ChunkPos& pos) {
  ChunkTable::Slot* slot = core_->chunks.find(pos);
  if (slot == nullptr || !slot->value) {
    ++core_->counters.miss_count;
    return {};
  }
  ++core_->counters.hit_count;
  slot->extra.used = true;
  // One that is being edited goes on changing; what is handed out must not.
  if (core_->is_being_edited(pos)) return core_->clone(*slot->value);
  return *slot->value;
}

Result<ChunkRef> World::load_now(const ChunkPos& pos) {
  Core& core = *core_;
  if (core.closed) return invalid_argument("the world is closed");
  VARVE_TRY(core.check_pos(pos));
  core.leaving.erase(pos);
  ChunkRef here = get(pos);
  if (here && core.is_here(pos)) return here;
  // A chunk the game put is here without the entities that are stored for it.
  const LoadKind kind = here                               ? LoadKind::entities
                        : core.chunks.find(pos) == nullptr ? LoadKind::stored
                                                           : LoadKind::erased;
  Result<LoadedChunk> loaded = core.source.load(pos, kind);
  if (!loaded) {
    ++core.counters.load_failure_count;
    if (loaded.error().code() == ErrorCode::corruption && kind == LoadKind::stored)
      core.damaged.insert(pos);
    core.note_error(LogLevel::error, "a chunk could not be loaded: " + to_string(pos),
                    loaded.error());
    return loaded.error();
  }
  ++core.counters.load_count;
  if (!here) here = loaded->chunk;
  core.take_in(pos, *std::move(loaded));
  return here;
}

Result<bool> World::edit(const ChunkPos& pos, ByteView edit) {
  VARVE_TRY(core_->check_chunk_writable(pos));
  return guarded(
      ErrorCode::invalid_argument, [&] { return "editing " + to_string(pos); },
      [&] { return core_->edit_chunk(pos, edit); });
}

Result<bool> World::edit_with(const ChunkPos& pos, const std::function<void(Chunk&)>& fn) {
  VARVE_TRY(core_->check_chunk_writable(pos));
  return guarded(
      ErrorCode::invalid_argument, [&] { return "editing " + to_string(pos); },
      [&] { return core_->edit_chunk_with(pos, fn); });
}

Status World::put(const ChunkPos& pos, std::unique_ptr<Chunk> chunk) {
  Core& core = *core_;
  VARVE_TRY(core.check_chunk_writable(pos));
  VARVE_TRY(core.check_pos(pos));
  if (!chunk) return invalid_argument("putting " + to_string(pos) + ": there is no chunk");
  return guarded(ErrorCode::invalid_argument, "putting a chunk", [&]() -> Status {
    if (core.damaged.erase(pos) != 0) core.to_quarantine.insert(pos);
    core.leaving.erase(pos);
    core.change_chunk(pos, ChunkRef(std::move(chunk)));
    return {};
  });
}

Status World::erase(const ChunkPos& pos) {
  Core& core = *core_;
  VARVE_TRY(core.check_chunk_writable(pos));
  VARVE_TRY(core.check_pos(pos));
  return guarded(ErrorCode::invalid_argument, "erasing a chunk", [&]() -> Status {
    if (core.damaged.erase(pos) != 0) core.to_quarantine.insert(pos);
    core.change_chunk(pos, std::nullopt);
    return {};
  });
}

ChunkState World::state(const ChunkPos& pos) {
  Core& core = *core_;
  core.collect();
  const ChunkTable::Slot* slot = core.chunks.find(pos);
  if (slot == nullptr || !slot->value)
    return core.loads.contains(pos) ? ChunkState::loading : ChunkState::absent;
  if (core.chunks.is_dirty(*slot)) return ChunkState::dirty;
  return slot->batch == 0 ? ChunkState::clean : ChunkState::persisted;
}

Status World::regenerate(const ChunkPos& pos) {
  Core& core = *core_;
  VARVE_TRY(core.check_chunk_writable(pos));
  if (!core.damaged.contains(pos))
    return invalid_argument(
        to_string(pos) +
        ": not damaged; regenerate() is for chunks whose load failed as corruption");
  VARVE_ASSIGN(ChunkRef chunk, core.source.generate(pos));
  return guarded(ErrorCode::invalid_argument, "regenerating a chunk", [&]() -> Status {
    core.damaged.erase(pos);
    core.leaving.erase(pos);
    core.to_quarantine.insert(pos);
    core.change_chunk(pos, std::move(chunk));
    VARVE_ASSIGN(LoadedChunk entities, core.source.load(pos, LoadKind::entities));
    core.take_in(pos, std::move(entities));
    return {};
  });
}

}  // namespace varve
