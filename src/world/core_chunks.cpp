// Chunks in memory: taking them in, and changing them without disturbing who else holds
// them.
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/try.h"
#include "world/chunk_access.h"
#include "world/world_core.h"

namespace varve {
namespace {

// A chunk is being edited for as long as this lives, however the edit ends.
class EditScope {
 public:
  EditScope(std::vector<ChunkPos>& editing, const ChunkPos& pos) : editing_(editing) {
    editing_.push_back(pos);
  }
  ~EditScope() { editing_.pop_back(); }
  EditScope(const EditScope&) = delete;
  EditScope& operator=(const EditScope&) = delete;

 private:
  std::vector<ChunkPos>& editing_;
};

}  // namespace

// Besides the slot only the open batch may hold it: that one wants the latest state.
bool World::Core::is_exclusive(const ChunkTable::Slot& slot) const noexcept {
  return ChunkAccess::holder_count(**slot.value) <= (chunks.open_batch_holds(slot) ? 2U : 1U);
}

ChunkRef World::Core::clone(const ChunkRef& chunk) {
  ++counters.clone_count;
  return chunk->clone();
}

// Changes a chunk by `change`, which tells whether it did; after an error it did not.
// `may_change` is asked before a clone is made for it; `note` tells the journal, if there is one.
template <class Change, class MayChange, class Note>
Result<bool> World::Core::edit_slot(const ChunkPos& pos, const Change& change,
                                    const MayChange& may_change, const Note& note) {
  // Else a change in place that was begun would be neither finished nor cancelled, and its
  // key twice in the batch.
  static_assert(std::is_nothrow_invocable_r_v<Result<bool>, const Change&, Chunk&>);
  ChunkTable::Slot* slot = chunks.find(pos);
  if (slot == nullptr || !slot->value)
    return not_found(to_string(pos) + ": not in memory; request() or load_now() it first");
  slot->extra.used = true;
  if (journal) journal->notes().make_room();
  const bool images = journal && wants_image(slot->extra);
  if (images || !is_exclusive(*slot)) {
    if (!may_change(**slot->value)) return false;
    ChunkRef copy = clone(*slot->value);
    VARVE_ASSIGN(const bool changed, change(ChunkAccess::writable(copy)));
    if (changed) {
      if (images) image_chunk(pos, slot);
      chunks.change(pos, std::move(copy));
      note(*slot);
      chunk_changed(pos, *slot);
    } else {
      // As good as the original, and nobody else holds it: the next edit needs none.
      chunks.replace_equal(*slot, std::move(copy));
    }
    return changed;
  }
  Chunk& chunk = ChunkAccess::writable(*slot->value);
  if (chunks.is_open(*slot)) {
    VARVE_ASSIGN(const bool changed, change(chunk));
    if (!changed) return false;
    // Where the batch has an erasure, the change takes it back.
    chunks.changed_in_place(pos, *slot);
    note(*slot);
    chunk_changed(pos, *slot);
    return true;
  }
  // The memory to remember the change comes before the change.
  const std::size_t place = chunks.begin_change_in_place(pos, *slot);
  Result<bool> changed = change(chunk);
  if (!changed || !*changed) {
    chunks.cancel_change_in_place(place);
    return changed;
  }
  chunks.finish_change_in_place(*slot, place);
  note(*slot);
  chunk_changed(pos, *slot);
  return true;
}

// What it was before the tick that is under way, for the journal.
void World::Core::image_chunk(const ChunkPos& pos, const ChunkTable::Slot* slot) {
  Before<ChunkRef> before;
  before.is_known = slot != nullptr;
  // The generator's in the place of an erased one was never saved.
  if (slot != nullptr && !slot->extra.took_place_of_erased) before.value = slot->value;
  journal->notes().image_chunk(pos, std::move(before));
}

// After an edit: the slot says whether the edit says everything.
void World::Core::note_edits(const ChunkPos& pos, ChunkTable::Slot& slot, std::span<Bytes> edits,
                             bool is_whole) noexcept {
  mark_imaged(slot.extra);
  if (std::exchange(slot.extra.took_place_of_erased, false) || is_whole) {
    return journal->notes().change_chunk(pos);
  }
  for (Bytes& edit : edits) journal->notes().edit_chunk(pos, std::move(edit));
}

Result<bool> World::Core::edit_chunk(const ChunkPos& pos, ByteView edit) {
  Bytes logged;
  if (journal) logged = Bytes::copy_of(edit);
  return edit_slot(
      pos,
      [&](Chunk& chunk) noexcept {
        return guarded(
            ErrorCode::invalid_argument, [&] { return "editing " + to_string(pos); },
            [&] { return chunk.apply(edit); });
      },
      [&](const Chunk& chunk) { return chunk.would_change(edit); },
      [&](ChunkTable::Slot& slot) noexcept {
        if (journal) note_edits(pos, slot, std::span(&logged, 1), false);
      });
}

Result<bool> World::Core::edit_chunk_with(const ChunkPos& pos,
                                          const std::function<void(Chunk&)>& fn) {
  const EditScope scope(editing, pos);
  std::vector<Bytes> edits;
  bool is_whole = false;
  // What setters did before the game's code threw is done, so the error comes last.
  Status edited;
  Result<bool> changed = edit_slot(
      pos,
      [&](Chunk& chunk) noexcept -> Result<bool> {
        ChunkAccess::begin_edits(chunk, journal ? &edits : nullptr);
        edited = guarded(
            ErrorCode::invalid_argument, [&] { return "editing " + to_string(pos); },
            [&]() -> Status {
              fn(chunk);
              return {};
            });
        is_whole = ChunkAccess::end_edits(chunk);
        return ChunkAccess::take_changed(chunk);
      },
      [](const Chunk&) { return true; },
      [&](ChunkTable::Slot& slot) noexcept {
        if (!journal) return;
        // Room was made for one note. More of them are worth less than what they would cost here.
        note_edits(pos, slot, edits, is_whole || edits.size() != 1);
      });
  if (!edited) return std::move(edited).error();
  return changed;
}

// Puts or erases one, whatever is there.
void World::Core::change_chunk(const ChunkPos& pos, std::optional<ChunkRef> chunk) {
  const bool erases = !chunk;
  if (journal) {
    journal->notes().make_room();
    const ChunkTable::Slot* before = chunks.find(pos);
    if (before == nullptr || wants_image(before->extra)) image_chunk(pos, before);
  }
  ChunkTable::Slot& slot = chunks.change(pos, std::move(chunk));
  if (journal) {
    mark_imaged(slot.extra);
    slot.extra.took_place_of_erased = false;
    if (erases) {
      journal->notes().erase_chunk(pos);
    } else {
      journal->notes().change_chunk(pos);
    }
  }
  chunk_changed(pos, slot);
}

// Everything that follows from a change, whoever made it.
void World::Core::chunk_changed(const ChunkPos& pos, ChunkTable::Slot& slot) {
  ++counters.edit_count;
  account(slot);
  if (options.write_through.enabled) queue_write_through(pos, slot);
}

// Keeps count of what chunks occupy.
void World::Core::account(ChunkTable::Slot& slot) {
  const std::size_t before = slot.extra.memory_size;
  const std::size_t now = slot.value ? (*slot.value)->memory_size() : 0;
  resident_size = resident_size - before + now;
  resident_count += static_cast<std::size_t>(now != 0) - static_cast<std::size_t>(before != 0);
  slot.extra.memory_size = now;
}

// A loaded chunk and its entities. What is in memory already is newer.
void World::Core::take_in(const ChunkPos& pos, LoadedChunk loaded) {
  counters.generated_count += loaded.generated ? 1 : 0;
  take_in_entities(std::move(loaded.entities));
  if (loaded.entities_error) {
    // Asking for the chunk again tries to read them again.
    ++counters.load_failure_count;
    note_error(LogLevel::error, "entities could not be loaded: " + to_string(pos),
               *loaded.entities_error);
  }
  const bool has_entities = !loaded.entities_error;
  if (ChunkTable::Slot* here = chunks.find(pos)) here->extra.has_entities = has_entities;
  if (!loaded.chunk) return;
  damaged.erase(pos);
  ChunkTable::Slot& slot = chunks.insert_clean(pos, loaded.chunk);
  // Erased, and the erasure is not in the store yet: the generator's chunk takes its place
  // in memory, and the erasure goes its way.
  if (!slot.value) {
    slot.value = std::move(loaded.chunk);
    slot.extra.took_place_of_erased = true;
  }
  slot.extra.used = true;
  slot.extra.has_entities = has_entities;
  account(slot);
}

}  // namespace varve
