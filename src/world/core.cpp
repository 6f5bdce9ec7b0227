#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "base/try.h"
#include "store/commit_check.h"
#include "world/journal_opening.h"
#include "world/world_core.h"

namespace varve {
namespace {

unsigned encode_threads(const WorldOptions& options) {
  if (options.encode_thread_count != 0) return options.encode_thread_count;
  return std::clamp(std::thread::hardware_concurrency(), 2U, 5U) - 1;
}

unsigned load_threads(const WorldOptions& options) {
  if (options.load_thread_count != 0) return options.load_thread_count;
  return std::thread::hardware_concurrency() >= 4 ? 2 : 1;
}

}  // namespace

World::Core::Core(std::unique_ptr<Store> opened, WorldOptions chosen,
                  const AutosaveConfig& autosave_config,
                  std::unique_ptr<journal::JournalFolder> opened_journal,
                  bool journal_in_background)
    : store(std::move(opened)),
      options(std::move(chosen)),
      logger(options.log),
      tick_number(store->tick()),
      session_seed(std::random_device{}()),
      autosave(autosave_config),
      has_chosen_backups(options.autosave.has_value()),
      stored_generation(store->generation()),
      stored_tick(store->tick()),
      game_thread(std::this_thread::get_id()),
      source(*store, options.chunk_type, options.generator) {
  const std::optional<GeneratorId> known = store->generator();
  if (options.generator && store->capabilities().generator) {
    const GeneratorId given = options.generator->id();
    if (known != given) generator_to_record = given;
  }
  loader = std::make_unique<Loader>(source, load_threads(options),
                                    [this](auto done) { loads_done.put(std::move(done)); });
  if (opened_journal) {
    journal = std::make_unique<WorldJournal>(
        std::move(opened_journal), *store, tick_number,
        WorldJournalOptions{.history_ticks = options.journal->history_ticks,
                            .queue_size_max = options.journal->queue_size_max,
                            .pick_up_time = pick_up_time(options.journal->sync_mode),
                            .background = journal_in_background},
        [this](const Error& error) {
          logger.log(LogLevel::error, "the journal was given up; saves go on",
                     {{"code", std::string(to_string(error.code()))}, {"error", error.message()}});
        });
  }
  CommitGate gate;
  if (journal) gate = [this](std::uint64_t tick) { return journal->make_durable(tick); };
  saver = std::make_unique<Saver>(*store, encode_threads(options), std::move(gate),
                                  [this](auto done) { saves_done.put(std::move(done)); });
}

World::Core::~Core() {
  if (waiting_save)
    waiting_save->finish(cancelled("save: the world was closed before it could start"));
  // Both end their threads, which use the store.
  loader.reset();
  saver.reset();
  // So does the journal's.
  journal.reset();
}

Status World::Core::check_writable() const {
  if (closed) [[unlikely]]
    return invalid_argument("the world is closed");
  if (paused && !in_before_save) [[unlikely]]
    return busy("the world is paused: resume() it before changing anything");
  return {};
}

bool World::Core::is_being_edited(const ChunkPos& pos) const noexcept {
  return !editing.empty() && std::find(editing.begin(), editing.end(), pos) != editing.end();
}

Status World::Core::check_chunk_writable(const ChunkPos& pos) const {
  VARVE_TRY(check_writable());
  if (is_being_edited(pos)) [[unlikely]]
    return busy(to_string(pos) + ": changed inside its own edit; use the chunk that was handed in");
  return {};
}

Status World::Core::check_not_editing(const char* what) const {
  if (editing.empty()) return {};
  return busy(fmt::format("{} inside an edit of {}: the chunk is not whole yet", what,
                          to_string(editing.back())));
}

Status World::Core::check_pos(const ChunkPos& pos) const {
  return check_position(pos, store->capabilities());
}

std::size_t World::Core::dirty_record_count() const noexcept {
  return chunks.dirty_count() + entities.dirty_count() + players.dirty_count() +
         globals.dirty_count();
}

void World::Core::note_error(LogLevel level, std::string_view what, const Error& error) {
  counters.last_error = error;
  if (logger.enabled())
    logger.log(level, std::string(what),
               {{"code", std::string(to_string(error.code()))}, {"error", error.message()}});
}

}  // namespace varve
