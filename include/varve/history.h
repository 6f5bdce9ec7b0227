// The past of a world that is opened with a journal: what it was at any tick the journal remembers,
// and who changed what when.
//
//   auto history = world.history();                       // beside the game that plays on
//   auto history = WorldHistory::open("saves/arena", {}); // without one
//
//   auto past = (*history)->at_tick(72'000);
//   auto chunk = (*past)->chunk(pos);
//
// Nothing of a past world is made before it is asked for, and what is asked for costs what was
// logged about it: an index says which ticks speak of which record.
//
// How a record's past is told: the first change of a record in a stretch of ticks is logged with
// what was there before it. So a record at a tick is what the last change at or before it in that
// stretch made of it; else what the first change after it found; else what is stored.
//
// Thread safety: any thread, any number of them, beside the game. A history and the past worlds it
// gave must be gone before its world is closed.
// Errors: not_found for a tick before the history, naming the oldest; invalid_argument for one that
// has not come yet; corruption where the log or the save is damaged, never a guess.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/chunk.h"
#include "varve/generator.h"
#include "varve/key.h"
#include "varve/result.h"
#include "varve/store.h"
#include "varve/tick.h"

namespace varve {

// A world at one tick, to read.
class PastWorld {
 public:
  virtual ~PastWorld() = default;
  virtual std::uint64_t tick() const = 0;

  // Its payload, as its type would have stored it. Of one nobody had saved or changed yet nullopt,
  // or what the generator made.
  virtual Result<std::optional<Bytes>> chunk(const ChunkPos& pos) const = 0;
  virtual Result<std::optional<Entity>> entity(EntityId id) const = 0;
  // Of an entity that is a ComponentSet.
  virtual Result<std::optional<Bytes>> component(EntityId id, ComponentId component) const = 0;
  virtual Result<std::optional<Bytes>> player(std::string_view id) const = 0;
  virtual Result<std::optional<Bytes>> global(std::string_view name) const = 0;
  // Those that stood in chunks of the box, by id.
  virtual Result<std::vector<Entity>> entities_in(const ChunkBox& box) const = 0;
  // Every entity there was, by id, until it returns false.
  virtual Status for_each_entity(const std::function<bool(const Entity&)>& visit) const = 0;
};

// One tick's change of a record.
struct EntityEvent {
  std::uint64_t tick = 0;
  std::string author = {};                // empty: nobody's
  std::optional<EntityValue> value = {};  // afterwards; nullopt: it was gone
  friend bool operator==(const EntityEvent&, const EntityEvent&) = default;
};
struct ChunkEvent {
  enum class Kind : std::uint8_t { edit, put, erase };
  std::uint64_t tick = 0;
  std::string author = {};
  Kind kind = Kind::edit;
  Bytes edit = {};  // of an edit, in the chunk type's bytes
  friend bool operator==(const ChunkEvent&, const ChunkEvent&) = default;
};
// What came to stand in a cell. A tick in which it changed twice has two.
struct CellEvent {
  std::uint64_t tick = 0;
  std::string author = {};
  // nullopt: the chunk was gone and no generator is known that makes it, or has no such cell.
  std::optional<Bytes> value = {};
  friend bool operator==(const CellEvent&, const CellEvent&) = default;
};

// A record that differs between two ticks. Sizes and not contents: a diff may be of a whole world.
struct RecordDifference {
  RecordKey key = {};
  std::optional<std::uint64_t> size_before = {};  // nullopt: it was not there
  std::optional<std::uint64_t> size_after = {};
  friend bool operator==(const RecordDifference&, const RecordDifference&) = default;
};

// What to put back.
struct RollbackRequest {
  // To what was there after this tick.
  std::uint64_t tick = 0;
  // Which part of the world: chunks in the box, or those listed, with the entities that stood or
  // stand in them. Neither: all of it.
  std::optional<ChunkBox> box = {};
  std::vector<ChunkPos> chunks = {};
  // Only what this author did since. A cell (or, where the chunk type knows no cells, a chunk; or
  // an entity, a player, a global) whose last change is the author's goes back to what it was
  // before that author's changes in a row; what somebody else changed later stays. A chunk the
  // author put goes back whole, but for the cells others changed in it since; if these do not fit
  // into what was there before, it stays and is among the problems.
  std::string author = {};
};

// Assignments that put it back; World::roll_back() makes one tick of them.
struct RollbackPlan {
  std::vector<ChunkEdit> edits = {};     // cell by cell, where only cells go back
  std::vector<ChunkChange> chunks = {};  // whole
  std::vector<EntityChange> entities = {};
  std::vector<NamedChange> players = {};  // of a rollback that names no part of the world
  std::vector<NamedChange> globals = {};
  std::vector<RecordProblem> problems = {};  // records whose past cannot be told; they stay
  bool empty() const noexcept {
    return edits.empty() && chunks.empty() && entities.empty() && players.empty() &&
           globals.empty();
  }
};

struct HistoryOptions {
  std::string journal_path = {};  // none: the save's path and ".journal"
  // The type the game opens the world with: without it edits cannot be applied.
  // None: the one the journal names, if it is raw_chunks() or nebula::voxel_chunks().
  std::shared_ptr<const ChunkType> chunk_type = {};
  std::shared_ptr<const Generator> generator = {};
};

class WorldHistory {
 public:
  // Of a save that is not open in this process: as it is now. Another process may play it
  // meanwhile, as far as its format lets a save be read then. not_found if it has no journal.
  static Result<std::unique_ptr<WorldHistory>> open(std::string_view save_path,
                                                    const HistoryOptions& options = {});
  virtual ~WorldHistory() = default;

  // Whose edits the journal has. Without this type what needs them applied is unsupported.
  virtual std::string_view chunk_type_name() const = 0;

  // Every tick between them, both included, can be told.
  virtual std::uint64_t oldest_tick() const = 0;
  virtual std::uint64_t latest_tick() const = 0;

  virtual Result<std::unique_ptr<PastWorld>> at_tick(std::uint64_t tick) const = 0;

  // The changes of a record in the range, by rising tick.
  virtual Result<std::vector<EntityEvent>> entity_history(EntityId id,
                                                          const TickRange& range) const = 0;
  virtual Result<std::vector<ChunkEvent>> chunk_history(const ChunkPos& pos,
                                                        const TickRange& range) const = 0;
  // `cell` in the chunk type's bytes; unsupported for a type that knows none (Chunk::read_cell).
  virtual Result<std::vector<CellEvent>> block_history(const ChunkPos& pos, ByteView cell,
                                                       const TickRange& range) const = 0;

  // The first tick of the range at which the predicate holds; nullopt if it never does. Ticks that
  // changed nothing are not looked at, but for the first.
  virtual Result<std::optional<std::uint64_t>> find_tick(
      const TickRange& range, const std::function<Result<bool>(const PastWorld&)>& holds) const = 0;

  // The records that are not the same after both ticks, by kind and key: chunks and entities of the
  // box, or everything.
  virtual Result<std::vector<RecordDifference>> diff(
      std::uint64_t before, std::uint64_t after,
      const std::optional<ChunkBox>& box = std::nullopt) const = 0;

  // What a rollback would do. Nothing is changed.
  virtual Result<RollbackPlan> plan_rollback(const RollbackRequest& request) const = 0;

  // Ticks of the log, each with its mutations, until it returns false.
  virtual Status for_each_tick(
      const TickRange& range,
      const std::function<bool(std::uint64_t tick, const TickMutations& mutations)>& visit)
      const = 0;

  // How many entries of the log were read and decoded for all calls so far.
  virtual std::uint64_t decoded_count() const = 0;
};

}  // namespace varve
