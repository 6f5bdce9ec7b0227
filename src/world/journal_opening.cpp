#include "world/journal_opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/try.h"
#include "io/durable_folder.h"
#include "io/path.h"
#include "journal/log_compression.h"
#include "varve/journal.h"
#include "world/journal_link.h"
#include "world/journal_recovery.h"

namespace varve {
namespace {

using journal::JournalFolder;
using journal::JournalMeta;

JournalId new_id(std::uint64_t seed) {
  JournalId id;
  std::mt19937_64 seeded(seed);
  std::random_device device;
  for (std::uint8_t& byte : id) {
    byte = static_cast<std::uint8_t>(seed != 0 ? seeded() : device());
  }
  return id;
}

// What is left of the time for the log itself.
Durability without_pick_up(Durability sync_mode) {
  sync_mode.interval_ms -= static_cast<std::uint32_t>(pick_up_time(sync_mode).count());
  return sync_mode;
}

class JournalOpening {
 public:
  JournalOpening(Store& store, std::string_view save_path, const WorldOptions& options,
                 const JournalSeam& seam, Logger& logger)
      : store_(store), options_(options), seam_(seam), logger_(logger) {
    if (!save_path.empty()) beside_ = std::string(save_path) + std::string(journal::kJournalSuffix);
  }

  Result<std::unique_ptr<JournalFolder>> open() {
    if (store_.capabilities().globals) {
      VARVE_ASSIGN(link_, read_link(store_));
    }
    return options_.journal ? attach() : detach();
  }

 private:
  Result<std::unique_ptr<JournalFolder>> open_folder(const std::string& path,
                                                     const JournalConfig& config) const {
    return JournalFolder::open(seam_.vfs, path,
                               {.log = {.durability = without_pick_up(config.sync_mode),
                                        .compression = journal::compression_of(config.compression),
                                        .segment_size = config.segment_size,
                                        .background = seam_.background},
                                .fresh = {.id = new_id(seam_.seed),
                                          .stretch_ticks = config.stretch_ticks,
                                          .base_tick = store_.tick(),
                                          .chunk_type = std::string(options_.chunk_type->name())},
                                .seed = seam_.seed});
  }

  // Where the journal is that the save speaks of. Empty if nobody knows.
  Result<std::string> linked_path() const {
    // A save may come from anybody: what it names is looked at before anything is written there.
    const bool is_plain = std::all_of(link_->path.begin(), link_->path.end(), [](char c) {
      return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    });
    if (!is_plain) return corruption("global:varve:journal: a path with control characters");
    return link_->path.empty() ? beside_ : link_->path;
  }

  // What the journal the save speaks of knows is not left behind; the journal itself is.
  Status leave_linked() {
    VARVE_ASSIGN(const std::string path, linked_path());
    if (path.empty()) {
      return invalid_argument(
          "this save has a journal beside it that may know later ticks: open it by its path");
    }
    VARVE_ASSIGN(const auto folder, open_existing(path));
    if (folder && folder->meta().id == link_->id) {
      VARVE_TRY(bring_up_to_date(*folder, path, std::nullopt));
      warn("the world goes on without its journal, which is left behind", path);
    } else {
      VARVE_TRY(forget_link());
    }
    if (folder) VARVE_TRY(folder->close());
    link_.reset();
    return {};
  }

  // Null if there is none: nothing is made where a save only says that something is.
  Result<std::unique_ptr<JournalFolder>> open_existing(const std::string& path) const {
    for (const char* part : {"index", "log"}) {
      VARVE_ASSIGN(const bool is_there, seam_.vfs.exists(path_join(path, part)));
      if (!is_there) return nullptr;
    }
    return open_folder(path, {});
  }

  // A copy of a save has no journal; or somebody moved it, and what it knows is lost to this world.
  // It must not be believed when it is back.
  Status forget_link() {
    Commit commit{.tick = store_.tick()};
    commit.globals.push_back({.name = std::string(kJournalGlobal)});
    Progress progress;
    VARVE_TRY(store_.commit(commit, progress));
    warn("the journal of this save is not there; the world is what is stored", link_->path);
    return {};
  }

  Result<std::unique_ptr<JournalFolder>> detach() {
    if (link_) VARVE_TRY(leave_linked());
    return nullptr;
  }

  Result<std::unique_ptr<JournalFolder>> attach() {
    const JournalConfig& config = *options_.journal;
    const std::string path = config.path.empty() ? beside_ : config.path;
    VARVE_TRY(check(config, path));
    VARVE_ASSIGN(auto folder, open_folder(path, config));
    const bool is_ours = link_ && link_->id == folder->meta().id;
    if (link_ && !is_ours) {
      VARVE_ASSIGN(const std::string linked, linked_path());
      VARVE_TRY(linked == path ? forget_link() : leave_linked());
      link_.reset();
    }
    if (!is_ours && folder->log().latest_tick()) {
      VARVE_TRY(folder->close());
      folder.reset();
      VARVE_TRY(set_aside(path));
      VARVE_ASSIGN(folder, open_folder(path, config));
    } else if (!is_ours) {
      // Made by somebody who did not get as far as telling the save; or another save has told it.
      JournalMeta meta = folder->meta();
      meta.id = new_id(seam_.seed);
      meta.base_tick = store_.tick();
      meta.chunk_type = options_.chunk_type->name();
      VARVE_TRY(folder->put_meta(meta));
    }
    for (const Error& problem : folder->problems())
      warn("the journal is damaged", problem.message());
    if (folder->meta().chunk_type != options_.chunk_type->name()) {
      return wrong_type(path, folder->meta());
    }
    const JournalLink link{
        .id = folder->meta().id, .opening = link_ ? link_->opening + 1 : 1, .path = config.path};
    VARVE_TRY(bring_up_to_date(*folder, path, link));
    return folder;
  }

  Error wrong_type(const std::string& path, const JournalMeta& meta) const {
    return invalid_argument(fmt::format(
        "{}: the journal has edits of chunks of type '{}', and the world is opened with "
        "'{}': open it with that type",
        path, meta.chunk_type, options_.chunk_type->name()));
  }

  Status check(const JournalConfig& config, const std::string& path) const {
    if (path.empty()) {
      return invalid_argument("journal: a world on a store needs a path for its journal");
    }
    if (!store_.capabilities().globals) {
      return unsupported(fmt::format("journal: the format '{}' cannot keep the name of its journal",
                                     store_.capabilities().format));
    }
    if (!store_.capabilities().durable && config.path.empty()) {
      return invalid_argument(
          "journal: this save ends with the process; a journal of it needs a path of its own");
    }
    if (config.stretch_ticks == 0 || config.stretch_ticks > journal::kStretchTicksMax) {
      return invalid_argument(fmt::format("journal: stretch_ticks must be 1 to {}, and is {}",
                                          journal::kStretchTicksMax, config.stretch_ticks));
    }
    if (options_.write_through.enabled) {
      return invalid_argument(
          "journal: with one every tick is durable, so write_through must be off: it would save "
          "parts of ticks");
    }
    return {};
  }

  Status set_aside(const std::string& path) {
    VARVE_ASSIGN(const std::string aside, rename_aside(seam_.vfs, path, ".detached"));
    warn("a journal that is not this save's was set aside", aside);
    return {};
  }

  // One commit: what the journal knows, and which journal it is. The log follows: what is set aside
  // of it was damaged and is in the save as far as it can be.
  Status bring_up_to_date(JournalFolder& folder, const std::string& path,
                          const std::optional<JournalLink>& link) {
    const auto latest = folder.log().latest_tick();
    if (latest && *latest > store_.tick()) {
      if (folder.meta().chunk_type != options_.chunk_type->name()) {
        return wrong_type(path, folder.meta());
      }
      // An older save than the one it went on from.
      if (store_.tick() < folder.meta().base_tick) {
        return not_found(fmt::format(
            "{}: the journal begins at tick {}, and the save is at tick {}: bring back a later "
            "save, or move the journal away to go on from this one",
            path, folder.meta().base_tick, store_.tick()));
      }
    }
    VARVE_ASSIGN(RollForward forward, roll_forward(folder.log(), store_, *options_.chunk_type,
                                                   options_.generator.get()));
    const bool accepts = options_.journal && options_.journal->accept_damage;
    if (forward.damage && !accepts) {
      return forward.damage->with_context(
          fmt::format("{}: tick {} is the last that can be told; set accept_damage to go on from "
                      "there, or bring back a backup of the journal",
                      path, forward.commit.tick));
    }
    for (const RecordProblem& problem : forward.problems) {
      logger_.log(LogLevel::error, "a change in the journal could not be made again",
                  {{"key", problem.key}, {"error", problem.error.message()}});
    }
    std::erase_if(forward.commit.globals,
                  [](const NamedChange& change) { return change.name == kJournalGlobal; });
    NamedChange change{.name = std::string(kJournalGlobal)};
    if (link) change.data = encode_link(*link);
    forward.commit.globals.push_back(std::move(change));
    Progress progress;
    VARVE_TRY(store_.commit(forward.commit, progress));
    if (forward.damage) VARVE_TRY(folder.set_log_aside(forward.commit.tick));
    if (forward.tick_count != 0 && logger_.enabled()) {
      logger_.log(LogLevel::info, "brought the save up to date from its journal",
                  {{"tick", std::to_string(forward.commit.tick)},
                   {"ticks", std::to_string(forward.tick_count)}});
    }
    return {};
  }

  void warn(std::string_view what, const std::string& detail) {
    if (logger_.enabled()) logger_.log(LogLevel::warning, std::string(what), {{"what", detail}});
  }

  Store& store_;
  const WorldOptions& options_;
  const JournalSeam& seam_;
  Logger& logger_;
  std::string beside_;
  std::optional<JournalLink> link_;
};

}  // namespace

std::chrono::milliseconds pick_up_time(const Durability& sync_mode) noexcept {
  switch (sync_mode.kind) {
    case Durability::Kind::every_ms:
      return std::chrono::milliseconds(std::min<std::uint32_t>(sync_mode.interval_ms / 4, 10));
    case Durability::Kind::none:
      return std::chrono::milliseconds(10);
    case Durability::Kind::every_commit:
    case Durability::Kind::every_n:
      break;
  }
  return std::chrono::milliseconds(0);
}

Result<std::unique_ptr<JournalFolder>> open_journal(Store& store, std::string_view save_path,
                                                    const WorldOptions& options,
                                                    const JournalSeam& seam, Logger& logger) {
  return JournalOpening(store, save_path, options, seam, logger).open();
}

}  // namespace varve
