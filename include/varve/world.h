// World: the runtime a game talks to.
//
//   auto opened = varve::World::open_or_create("memory:arena", {.generator = flat});
//   if (!opened) return show(opened.error().message());
//   varve::World& world = **opened;
//
//   while (playing) {                                  // once a frame
//     world.update(dt);                                // loads, autosave, timers
//     auto edited = world.edit(pos, RawChunk::edit_of(cell, value));  // dirty by itself
//     if (!edited) show(edited.error().message());
//     world.tick();
//   }
//   varve::Status closed = world.close();              // saves what is dirty
//
// World knows which chunks are in memory, which of them are dirty and since when. It saves
// in the background: a save takes references on the game thread, and everything else
// happens elsewhere. Only calls whose comment says "blocks" wait for a disk; edits do if
// write-through was told to make them wait.
//
// Records are read from memory first, then from saves that are on their way, then from
// the store, so that what was written is what is read, erasures included.
//
// Thread safety: one thread, the game thread, makes all calls. What they hand out
// (handles, ChunkRef, views) may be used on others.
// Errors: nothing throws. What goes wrong in the background becomes the error of that
// save or load, is logged, and is kept in telemetry(); nothing unsaved is dropped for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "varve/backup.h"
#include "varve/chunk.h"
#include "varve/history.h"
#include "varve/key.h"
#include "varve/result.h"
#include "varve/save.h"
#include "varve/store.h"
#include "varve/telemetry.h"
#include "varve/world_options.h"

namespace varve {

enum class ChunkState : std::uint8_t {
  absent,     // not in memory
  loading,    // requested
  clean,      // as it was loaded or generated
  dirty,      // changed since it was last stored
  persisted,  // changed, and stored since
};
std::string_view to_string(ChunkState state) noexcept;

// What came in since the last update(). Valid until the next one.
struct UpdateReport {
  struct Failure {
    ChunkPos pos = {};
    Error error;
  };
  // In memory now, with their entities; a chunk whose entities could not be read is also
  // among those that failed.
  std::vector<ChunkPos> loaded = {};
  std::vector<Failure> failed = {};
  std::vector<ChunkPos> evicted = {};
  // The outcome of the save() or autosave that ended, if one did.
  std::optional<Result<SaveReport>> saved = {};
};

struct JournalSeam;

class World {
 public:
  // --- Opening and closing ------------------------------------------------------------
  // All of these block.

  // not_found if there is no save at `path`.
  static Result<std::unique_ptr<World>> open(std::string_view path, WorldOptions options = {});
  // Refused if there is one already.
  static Result<std::unique_ptr<World>> create(std::string_view path, WorldOptions options = {});
  static Result<std::unique_ptr<World>> open_or_create(std::string_view path,
                                                       WorldOptions options = {});
  // On a store that is open already.
  static Result<std::unique_ptr<World>> on(std::unique_ptr<Store> store, WorldOptions options = {});

  enum class Unsaved : std::uint8_t { save, discard };

  // Waits for saves that run, saves what is dirty unless told to discard it, and closes
  // the store. Blocks. If saving fails the world stays open with everything in it: make
  // room and close again, save_to() somewhere else, or discard.
  Status close(Unsaved unsaved = Unsaved::save);
  // Waits for saves that were asked for, and drops what is dirty with a warning in the log.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // --- Every frame --------------------------------------------------------------------

  // Takes in what was loaded and saved, lets go of what leaves memory, and drives autosave and
  // timed saves by `dt_s`, the seconds since the last call. Costs next to nothing when there is
  // nothing to do.
  const UpdateReport& update(double dt_s);

  // Ends a tick: what changed since the last call happened in it. Returns its number.
  // Ticks go on where the save left off. With a journal the tick is on its way to the log, and what
  // is saved is saved as of the end of a tick: a save asked for in the midst of one begins when it
  // ends, which waiting for it on the game thread, save_to() and close() bring about. What a
  // before_save changes is a tick of its own. Inside an edit no tick ends, and the number stays.
  std::uint64_t tick();
  std::uint64_t current_tick() const;

  // --- With a journal -------------------------------------------------------------------

  // Who makes the changes that follow, until it is called again; empty: nobody. Kept with each
  // change. invalid_argument for what is no name.
  Status set_author(std::string_view name);
  // Everything up to this tick survives a crash. Without a journal: what is stored. Ticks in which
  // nothing changed are not logged: after a crash the number goes on behind the last that did.
  std::uint64_t durable_tick() const;
  // Waits until all ticks that have ended are durable. Blocks. Without a journal it is refused.
  Status make_durable();
  // The past of this world, up to the last tick that ended. Blocks for a moment, until that is
  // logged. Must be gone before close().
  Result<std::unique_ptr<WorldHistory>> history();
  // Makes what a plan of the history says, as one new tick, which can be rolled back like any. A
  // tick that is under way ends first. Loads chunks it edits: blocks. Returns its number. After an
  // error part of it may be made, as changes of the tick that is under way.
  Result<std::uint64_t> roll_back(const RollbackPlan& plan);

  // While paused nothing changes: edits, puts, erasures and tick() are refused as busy (tick()
  // returns the number it is at). Loading and saving go on.
  void pause();
  void resume();
  bool is_paused() const;

  // --- Chunks -------------------------------------------------------------------------

  // The chunk if it is in memory, else nothing. Never waits.
  ChunkRef get(const ChunkPos& pos);
  // The chunk: from memory, from the store, from the generator. Blocks. not_found if
  // it was never saved and there is no generator; corruption if what is stored is
  // damaged (see regenerate). Entities that cannot be read are said in the log only.
  Result<ChunkRef> load_now(const ChunkPos& pos);

  // Applies edit bytes of the chunk's type. Returns whether anything changed; an edit
  // that changes nothing leaves the chunk clean. not_found unless the chunk is in memory.
  Result<bool> edit(const ChunkPos& pos, ByteView edit);
  // Edits through the setters of the type the world was opened with:
  //   world.edit<Voxels>(pos, [](Voxels& chunk) { chunk.set(x, y, z, stone); });
  // Meanwhile other chunks may be edited; this one, and anything that saves, is refused as
  // busy.
  template <class T, class Fn>
  Result<bool> edit(const ChunkPos& pos, Fn&& fn) {
    return edit_with(pos, [&](Chunk& chunk) { fn(static_cast<T&>(chunk)); });
  }
  // Puts a chunk the game made, in place of what is there.
  Status put(const ChunkPos& pos, std::unique_ptr<Chunk> chunk);
  // Removes it from memory and from the save: it is as if it never had been saved. Its
  // entities stay.
  Status erase(const ChunkPos& pos);

  ChunkState state(const ChunkPos& pos);
  // Puts the generator's chunk in place of one whose load failed as corruption. What is
  // stored is replaced only once its bytes are kept in quarantine. Blocks.
  Status regenerate(const ChunkPos& pos);

  // --- Streaming ----------------------------------------------------------------------

  // Loads the chunk and its entities in the background; update() says when it is there. Higher
  // priorities come first. Asking again raises the priority, if it is higher.
  Status request(const ChunkPos& pos, int priority = 0);

  // Keeps the chunks of a window in memory: requests those that come in, nearest first,
  // and evicts those that go out of all windows. Call it whenever the player moved;
  // most calls have nothing to do. `id` is the game's own, one per player. A chunk that
  // cannot be loaded is not tried again until it is requested or comes in anew.
  Status set_window(std::uint64_t id, const Window& window);
  void remove_window(std::uint64_t id);

  // Drops the chunk and its entities from memory, once they are stored if they are dirty.
  // Whoever asks for the chunk before that (request, load_now, put) keeps it in memory.
  void evict(const ChunkPos& pos);

  // --- Entities, players, globals -----------------------------------------------------
  // The plain name looks in memory only; load_ blocks and asks the store too. A put of
  // what is there already changes nothing.

  // A random number for this session and a counter: two sessions practically never
  // make the same id.
  EntityId new_entity_id();
  Status put_entity(const Entity& entity);
  Status erase_entity(EntityId id);
  std::optional<Entity> entity(EntityId id);
  Result<std::optional<Entity>> load_entity(EntityId id);
  // Those in memory that stand in this chunk, by id. They come with the chunk when it is
  // loaded; load_entities_in() also finds those of a chunk that cannot be, because it was
  // never saved and there is no generator.
  std::vector<Entity> entities_in(const ChunkPos& pos);
  Result<std::vector<Entity>> load_entities_in(const ChunkPos& pos);

  Status put_player(std::string_view id, Bytes data);
  Status erase_player(std::string_view id);
  std::optional<Bytes> player(std::string_view id);
  Result<std::optional<Bytes>> load_player(std::string_view id);
  // Saves the player now, in the background, and drops it from memory.
  SaveHandle player_left(std::string_view id);

  Status put_global(std::string_view name, Bytes data);
  Status erase_global(std::string_view name);
  std::optional<Bytes> global(std::string_view name);
  Result<std::optional<Bytes>> load_global(std::string_view name);

  // --- Saving -------------------------------------------------------------------------

  // Saves everything that is dirty, as it is now, and the tick, even if that is all that
  // is new. While a save runs, this returns the handle of one further save that starts
  // right after it; all calls until then share it.
  SaveHandle save();
  // The same, and waits until it is stored. Blocks, as long as the disk takes: for the end of a
  // session, not for the midst of a game. This thread does the work unless another save runs, so
  // that a small one is done sooner than by save().wait(), which wakes another for nothing.
  Result<SaveReport> save_now();
  // Writes the whole world as it is now to another place, in the same format or another
  // one. This save and what is dirty stay as they are. A path that is taken is refused.
  // Damaged records are left out and named in the report's problems.
  SaveHandle save_to(std::string_view path, std::string_view format = {});
  // Brings a hot backup at `path` up to date, or makes it, while saves go on: varve/backup.h says
  // what is promised. It holds what was stored when its turn came, all saves asked for before it
  // included; what is dirty is not in it, so save() first if it should be. Of the report
  // unchanged_count, erased_count and written_size count what it did. Worlds of the varve
  // format alone; others have save_to(). It takes its time, so that no frame waits for the disk it
  // fills: a gigabyte takes a quarter of a minute, unless the options say otherwise.
  SaveHandle back_up(std::string_view path,
                     const BackupOptions& options = {.size_per_second = 64u << 20});

  // Whether a save runs or waits to start.
  bool is_saving() const;
  // The handle of the one that runs, whoever started it; one of no save if none does.
  SaveHandle current_save() const;
  // The outcome of the last save() or autosave, if there was one.
  std::optional<Result<SaveReport>> last_save() const;

  // Autosave counts from the end of the last save, and saves only if a record is dirty or
  // there is a before_save. All of it may be changed while running. Refused if the format
  // cannot.
  Status set_autosave(const AutosaveConfig& config);
  AutosaveConfig autosave() const;
  Status set_write_through(const WriteThroughConfig& config);
  Status set_timed_saves(const TimedSaveConfig& config);
  void set_memory_budget(std::size_t size);

  // --- Looking at it ------------------------------------------------------------------

  // The generation that was stored last, held as it is. Reads of it run on any thread and
  // see nothing unsaved. Must be gone before close(). unsupported where the format cannot.
  Result<std::unique_ptr<StoreView>> pin();

  Telemetry telemetry();
  // What the world stands on, to ask what it can do and to read what is stored. Not to be
  // read any more once the world is closed.
  const Store& store() const;

 private:
  struct Core;
  friend struct WorldSeam;
  explicit World(std::shared_ptr<Core> core);
  // `path` is empty where nobody knows it.
  static Result<std::unique_ptr<World>> on_path(std::unique_ptr<Store> store, std::string_view path,
                                                WorldOptions options, const JournalSeam& seam);

  Result<bool> edit_with(const ChunkPos& pos, const std::function<void(Chunk&)>& fn);

  std::shared_ptr<Core> core_;
};

}  // namespace varve
