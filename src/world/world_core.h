// The inside of a World: its state, and what several of its calls share.
//
// All of it belongs to the game thread, except the two mailboxes, which background threads
// fill and the game thread empties. world_*.cpp implement the public calls, core_*.cpp what
// is below.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "varve/world.h"
#include "world/autosave_timer.h"
#include "world/chunk_source.h"
#include "world/drop_log.h"
#include "world/loader.h"
#include "world/logger.h"
#include "world/mailbox.h"
#include "world/record_table.h"
#include "world/saver.h"
#include "world/world_journal.h"

namespace varve {

// What a journal remembers of a record in memory.
struct RecordExtra {
  // In which stretch of ticks its image was logged last, as WorldJournal::stretch() counts.
  std::uint64_t imaged_stretch = 0;
};

struct ChunkExtra : RecordExtra {
  std::size_t memory_size = 0;
  bool used = true;     // since the budget's hand came by last
  bool queued = false;  // waits for write-through
  // Its stored entities are in memory too. Not so for a chunk the game put without ever
  // having loaded it.
  bool has_entities = false;
  // The generator's, in the place of one whose erasure is not stored yet.
  bool took_place_of_erased = false;
};

using ChunkTable = RecordTable<ChunkPos, ChunkRef, ChunkExtra>;
using EntityTable = RecordTable<EntityId, EntityValue, RecordExtra>;
using NamedTable = RecordTable<std::string, Bytes, RecordExtra>;

// What options must hold, wherever they come from.
Status check_autosave(const AutosaveConfig& config, const Capabilities& can);
Status check_write_through(const WriteThroughConfig& config);
Status check_timed_saves(const TimedSaveConfig& config);

struct World::Core final : SaveStarter, std::enable_shared_from_this<World::Core> {
  World* owner = nullptr;

  // `opened_journal` is null for a world without one.
  Core(std::unique_ptr<Store> opened, WorldOptions chosen, const AutosaveConfig& autosave_config,
       std::unique_ptr<journal::JournalFolder> opened_journal, bool journal_in_background);
  ~Core() override;

  // --- What it stands on --------------------------------------------------------------
  std::unique_ptr<Store> store;
  WorldOptions options;
  Logger logger;
  std::optional<GeneratorId> generator_to_record = {};  // until a commit has it

  // --- Records ------------------------------------------------------------------------
  ChunkTable chunks;
  EntityTable entities;
  NamedTable players;
  NamedTable globals;
  std::unordered_map<ChunkPos, std::unordered_set<EntityId>> entities_by_owner;
  // Positions whose stored chunk could not be read, and those that were replaced since: the
  // saver hears of these with the next save.
  std::unordered_set<ChunkPos> damaged;
  std::unordered_set<ChunkPos> to_quarantine;
  std::uint64_t tick_number = 0;
  bool paused = false;
  // Chunks whose setters are being called. Nothing may be cut meanwhile: the values are not
  // whole yet.
  std::vector<ChunkPos> editing;
  bool closed = false;
  std::uint32_t session_seed = 0;
  std::uint32_t session_entity_count = 0;

  // Success if records may be changed now; `pos` and so on are checked by the next ones.
  Status check_writable() const;
  bool is_being_edited(const ChunkPos& pos) const noexcept;
  Status check_chunk_writable(const ChunkPos& pos) const;
  // Success unless a chunk is being edited.
  Status check_not_editing(const char* what) const;
  Status check_pos(const ChunkPos& pos) const;
  std::size_t dirty_record_count() const noexcept;

  Result<bool> edit_chunk(const ChunkPos& pos, ByteView edit);
  template <class Change, class MayChange, class Note>
  Result<bool> edit_slot(const ChunkPos& pos, const Change& change, const MayChange& may_change,
                         const Note& note);
  void change_chunk(const ChunkPos& pos, std::optional<ChunkRef> chunk);
  void image_chunk(const ChunkPos& pos, const ChunkTable::Slot* slot);
  void note_edits(const ChunkPos& pos, ChunkTable::Slot& slot, std::span<Bytes> edits,
                  bool is_whole) noexcept;
  Result<bool> edit_chunk_with(const ChunkPos& pos, const std::function<void(Chunk&)>& fn);
  bool is_exclusive(const ChunkTable::Slot& slot) const noexcept;
  ChunkRef clone(const ChunkRef& chunk);
  void chunk_changed(const ChunkPos& pos, ChunkTable::Slot& slot);
  void take_in(const ChunkPos& pos, LoadedChunk loaded);
  void account(ChunkTable::Slot& slot);
  void forget_owner(EntityId id, const std::optional<ChunkPos>& owner) noexcept;
  template <class Change>
  void change_owner(EntityId id, const std::optional<ChunkPos>& before,
                    const std::optional<ChunkPos>& after, const Change& change);
  void change_entity(EntityId id, std::optional<EntityValue> value);
  void take_in_entities(std::vector<Entity> loaded);
  // Players and globals differ in where they are, which `kind` says.
  NamedTable& named(RecordKind kind) noexcept;
  Status change_named(RecordKind kind, std::string_view name, std::optional<Bytes> data);
  std::optional<Bytes> find_named(RecordKind kind, std::string_view name);
  Result<std::optional<Bytes>> load_named(RecordKind kind, std::string_view name);

  // --- The journal ----------------------------------------------------------------------
  std::unique_ptr<WorldJournal> journal;
  // Parts that were to be saved in the midst of a tick, and players who left then.
  bool parts_wait_for_tick = false;
  bool has_saved_since_given_up = false;
  std::vector<std::pair<std::string, std::shared_ptr<SaveHandle::State>>> leavers_in_tick = {};

  // Whether what is in memory is as of the end of a tick. Always so without a journal.
  bool is_at_boundary() const noexcept { return journal == nullptr || journal->is_at_boundary(); }
  void end_tick() noexcept;
  // Saves that waited for a tick to end.
  void save_at_boundary();
  template <class Extra>
  bool wants_image(const Extra& extra) const noexcept {
    return extra.imaged_stretch != journal->stretch(tick_number + 1);
  }
  template <class Extra>
  void mark_imaged(Extra& extra) const noexcept {
    extra.imaged_stretch = journal->stretch(tick_number + 1);
  }
  void save_leaver(const std::string& key,
                   const std::shared_ptr<SaveHandle::State>& state) noexcept;
  // Logs what was handed over, and lets go of it.
  Status close_journal();

  // --- Saving -------------------------------------------------------------------------
  AutosaveTimer autosave;
  // Whether the game said how many backups are kept; else the format did.
  bool has_chosen_backups;
  std::shared_ptr<SaveHandle::State> running_save = {};  // of the whole world
  std::shared_ptr<SaveHandle::State> waiting_save = {};
  std::optional<Result<SaveReport>> last_save = {};
  std::optional<Result<SaveReport>> ended_save = {};  // for the next report
  bool in_before_save = false;
  std::shared_ptr<SaveHandle::State> save_before_cut;  // while its before_save runs
  std::shared_ptr<SaveHandle::State> spare_state = {};
  std::list<SaveJob> spare_job = {};
  std::uint64_t stored_generation = 0;
  std::uint64_t stored_tick = 0;
  double players_elapsed_s = 0;
  double globals_elapsed_s = 0;
  std::vector<ChunkPos> write_through_queue = {};
  std::shared_ptr<SaveHandle::State> running_write_through = {};
  bool eviction_runs = false;
  // Commits that were posted and whose outcome is not known yet.
  std::size_t commits_in_flight = 0;
  // After a part failed, parts wait; the time doubles as with autosave.
  double parts_wait_s = 0;
  double parts_backoff_s = 0;
  bool part_failed = false;
  // The same for evictions alone, after one that had to leave a chunk out.
  double eviction_wait_s = 0;
  double eviction_backoff_s = 0;
  std::vector<std::string> leaving_players = {};

  bool on_game_thread() const noexcept override;
  bool start_waiting_save(
      const SaveHandle::State& state,
      std::optional<SaveHandle::State::Clock::time_point> deadline) noexcept override;
  std::shared_ptr<SaveHandle::State> new_save_state();
  // What the next save needs, made while nobody waits for it.
  void make_spares() noexcept;
  static std::list<SaveJob> empty_job();
  // Waits for the save that runs, and for the one that waits, which begins with its end.
  void finish_saves();
  // A save of everything, begun or waiting for the one that runs.
  Result<SaveHandle> begin_save(SaverCall call);
  void start_save(const std::shared_ptr<SaveHandle::State>& state,
                  SaverCall call = SaverCall::wake);
  void save_ended(SaveHandle::State& state, Result<SaveReport> outcome);
  std::list<SaveJob> new_job(SaveKind kind, std::shared_ptr<SaveHandle::State> state);
  std::list<SaveJob> new_part(SaveKind kind);
  void cut_everything(Changes& changes);
  Status run_before_save();
  void post(std::list<SaveJob> job, SaveHandle::State::Clock::time_point begun_at,
            SaverCall call = SaverCall::wake) noexcept;
  void post_part(std::list<SaveJob> job) noexcept;
  // Takes in what the saver finished.
  void collect();
  void take_outcome(const SaveOutcome& outcome);
  void tell_outcome(const SaveOutcome& outcome) noexcept;
  void forget_erased(const SaveOutcome& outcome);
  void saves_every_now_and_then(double dt_s);
  void save_parts();
  void save_timed_records();
  void queue_write_through(const ChunkPos& pos, ChunkTable::Slot& slot);
  void flush_write_through();
  void unqueue(const ChunkPos& pos, ChunkTable::Slot& slot);

  // --- Streaming ----------------------------------------------------------------------
  struct PendingLoad {
    std::uint64_t ticket = 0;
    std::uint64_t generation = 0;  // of the store when it was asked for, or earlier
    int priority = 0;
    LoadKind kind = LoadKind::stored;
  };
  struct PlacedWindow {
    Window window = {};
    ChunkBox load_box = {};
    ChunkBox keep_box = {};
  };
  std::unordered_map<ChunkPos, PendingLoad> loads;
  std::uint64_t next_ticket = 1;
  DropLog drop_log;
  std::map<std::uint64_t, PlacedWindow> windows;
  std::unordered_set<ChunkPos> leaving;  // to be dropped with their entities when stored
  bool leaving_grew = false;
  std::vector<ChunkPos> here_already = {};  // requested while in memory
  std::size_t resident_count = 0;
  std::size_t resident_size = 0;
  ChunkTable::Map::Hand budget_hand = {};
  UpdateReport report;
  std::vector<ChunkPos> dropped = {};  // for the next report

  // Whether there is nothing of it left to load.
  bool is_here(const ChunkPos& pos);
  // Loads it, or raises the priority of the load that is under way.
  void want(const ChunkPos& pos, int priority);
  void request_load(const ChunkPos& pos, int priority);
  void take_loads();
  void take_load(LoadOutcome& outcome);
  bool is_kept(const ChunkPos& pos) const noexcept;
  void leave(const ChunkPos& pos);
  bool try_drop(const ChunkPos& pos);
  void drop_leaving();
  void save_leaving();
  void keep_budget();
  void finish_report();
  void trim_drop_log();

  // --- Telemetry ----------------------------------------------------------------------
  Telemetry counters;
  void note_error(LogLevel level, std::string_view what, const Error& error);

  // --- Threads ------------------------------------------------------------------------
  std::atomic<std::thread::id> game_thread;
  Mailbox<SaveOutcome> saves_done;
  Mailbox<LoadOutcome> loads_done;
  ChunkSource source;
  std::unique_ptr<Loader> loader;
  std::unique_ptr<Saver> saver;
};

}  // namespace varve
