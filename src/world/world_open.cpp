// Opening and closing a World.
#include <fmt/format.h>

#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "store/format_registry.h"
#include "varve/format.h"
#include "world/journal_opening.h"
#include "world/world_core.h"
#include "world/world_seam.h"

namespace varve {
namespace {

// Of new worlds, where nobody says otherwise.
constexpr std::string_view kDefaultFormat = "varve";

// The format the options, the path or what is there name.
Result<const Format*> format_to_open(std::string_view path, const WorldOptions& options) {
  if (!options.format.empty()) return find_format(options.format);
  if (const Format* named = format_named_by(path)) return named;
  return detect_format(path);
}

Result<const Format*> format_to_create(std::string_view path, const WorldOptions& options) {
  if (!options.format.empty()) return find_format(options.format);
  if (const Format* named = format_named_by(path)) return named;
  return find_format(kDefaultFormat);
}

Status check_generator(const Store& store, const WorldOptions& options) {
  const std::optional<GeneratorId> saved = store.generator();
  if (!saved || !options.generator || options.accept_other_generator) return {};
  const GeneratorId given = options.generator->id();
  if (given == *saved) return {};
  return invalid_argument(fmt::format(
      "this save was made with generator '{}' version {} and would be opened with '{}' version {}: "
      "chunks nobody changed would come out different; give it the old generator, or set "
      "accept_other_generator if that is meant",
      saved->name, saved->version, given.name, given.version));
}

Result<AutosaveConfig> choose_autosave(const Store& store, const WorldOptions& options) {
  if (!options.autosave) {
    const StoreDefaults& defaults = store.defaults();
    return AutosaveConfig{.interval_s = defaults.autosave_interval_s,
                          .max_backups = store.capabilities().backups ? defaults.max_backups : 0};
  }
  VARVE_TRY(check_autosave(*options.autosave, store.capabilities()));
  return *options.autosave;
}

// What the store had to mend or could not, for whoever keeps the log.
void log_opening(Logger& logger, const OpenReport& report) {
  if (!logger.enabled()) return;
  if (report.finished_commit)
    logger.log(LogLevel::info, "the save was not closed; a commit it had made was finished");
  if (report.dropped_tail)
    logger.log(LogLevel::info, "the save was not closed; a commit it had not made was dropped");
  for (const RecordProblem& problem : report.problems)
    logger.log(LogLevel::error, "part of the save is damaged and was worked around",
               {{"key", problem.key}, {"error", problem.error.message()}});
}

}  // namespace

Status check_autosave(const AutosaveConfig& config, const Capabilities& can) {
  VARVE_TRY(AutosaveTimer::check(config));
  if (config.max_backups != 0 && !can.backups)
    return unsupported(fmt::format(
        "autosave: the format '{}' keeps no backups; set max_backups to 0", can.format));
  return {};
}

namespace {

JournalSeam real_disk() { return {.vfs = posix_vfs()}; }

}  // namespace

Result<std::unique_ptr<World>> World::on(std::unique_ptr<Store> store, WorldOptions options) {
  return on_path(std::move(store), {}, std::move(options), real_disk());
}

Result<std::unique_ptr<World>> WorldSeam::on(std::unique_ptr<Store> store, WorldOptions options,
                                             const JournalSeam& seam) {
  return World::on_path(std::move(store), {}, std::move(options), seam);
}

Result<std::unique_ptr<World>> World::on_path(std::unique_ptr<Store> store, std::string_view path,
                                              WorldOptions options, const JournalSeam& seam) {
  if (!store) return invalid_argument("World::on: there is no store");
  if (!options.chunk_type) options.chunk_type = raw_chunks();
  return guarded(ErrorCode::io, "opening the world", [&]() -> Result<std::unique_ptr<World>> {
    VARVE_TRY(check_generator(*store, options));
    if (options.generator && store->capabilities().generator)
      VARVE_TRY(check_name(options.generator->id().name));
    VARVE_TRY(check_write_through(options.write_through));
    VARVE_TRY(check_timed_saves(options.timed_saves));
    VARVE_ASSIGN(const AutosaveConfig autosave, choose_autosave(*store, options));
    // For formats that store what differs from it.
    if (options.generator) store->use_generator(options.generator);
    std::unique_ptr<journal::JournalFolder> journal;
    {
      Logger logger(options.log);
      VARVE_ASSIGN(journal, open_journal(*store, path, options, seam, logger));
    }
    auto core = std::make_shared<Core>(std::move(store), std::move(options), autosave,
                                       std::move(journal), seam.background);
    if (core->journal) VARVE_TRY(core->journal->start());
    std::unique_ptr<World> world(new World(core));
    core->owner = world.get();
    log_opening(core->logger, core->store->open_report());
    return world;
  });
}

Result<std::unique_ptr<World>> World::open(std::string_view path, WorldOptions options) {
  VARVE_ASSIGN(const Format* format, format_to_open(path, options));
  VARVE_ASSIGN(std::unique_ptr<Store> store, format->open(path));
  return on_path(std::move(store), path, std::move(options), real_disk());
}

Result<std::unique_ptr<World>> World::create(std::string_view path, WorldOptions options) {
  VARVE_ASSIGN(const Format* format, format_to_create(path, options));
  VARVE_ASSIGN(std::unique_ptr<Store> store, format->create(path));
  return on_path(std::move(store), path, std::move(options), real_disk());
}

Result<std::unique_ptr<World>> World::open_or_create(std::string_view path, WorldOptions options) {
  Result<std::unique_ptr<World>> opened = open(path, options);
  if (opened || opened.error().code() != ErrorCode::not_found) return opened;
  return create(path, std::move(options));
}

World::World(std::shared_ptr<Core> core) : core_(std::move(core)) {}

World::~World() {
  Core& core = *core_;
  if (core.closed) return;
  core.finish_saves();
  core.saver->drain();
  core.collect();
  // With a journal the ticks that ended are in it; a tick that did not is lost.
  const std::size_t lost_count =
      core.journal ? (core.is_at_boundary() ? 0 : 1) : core.dirty_record_count();
  if (lost_count != 0)
    core.logger.log(LogLevel::warning, "a world was dropped without close(); changes are lost",
                    {{"records", std::to_string(lost_count)}});
  // Here and not with the last reference to the core, which a handle on another thread may
  // hold for a moment.
  core.closed = true;
  core.loader.reset();
  core.saver.reset();
  if (const Status closed = core.close_journal(); !closed)
    core.note_error(LogLevel::error, "the journal could not be closed", closed.error());
  core.store.reset();
}

Status World::close(Unsaved unsaved) {
  Core& core = *core_;
  if (core.closed) return {};
  VARVE_TRY(core.check_not_editing("close()"));
  if (core.in_before_save)
    return busy("closing inside before_save: the save it belongs to is not made yet");
  core.game_thread = std::this_thread::get_id();
  core.finish_saves();
  if (unsaved == Unsaved::save) {
    SaveHandle last = save();
    Result<SaveReport> saved = last.wait();
    core.collect();
    if (!saved) return saved.error().with_context("closing: the world stays open");
    if (!saved->problems.empty()) {
      const RecordProblem& first = saved->problems.front();
      return first.error.with_context(fmt::format(
          "closing: {} records could not be saved and the world stays open; the first is {}",
          saved->problems.size(), first.key));
    }
  }
  core.closed = true;
  core.loader.reset();
  core.loads.clear();
  core.saver->drain();  // copies end here too
  core.counters.encode_count = core.saver->encode_count();
  core.saver.reset();
  core.collect();
  const Status journal_closed = core.close_journal();
  Status closed = core.store->close();
  return closed ? journal_closed : closed;
}

const Store& World::store() const { return *core_->store; }

Result<std::unique_ptr<StoreView>> World::pin() {
  if (core_->closed) return invalid_argument("the world is closed");
  return core_->store->pin();
}

}  // namespace varve
