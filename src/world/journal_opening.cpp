#include "world/journal_opening.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "base/try.h"
#include "io/path.h"
#include "journal/log_compression.h"
#include "varve/journal.h"
#include "world/journal_link.h"
#include "world/journal_recovery.h"

namespace varve {
namespace {

using journal::JournalFolder;
using journal::JournalMeta;
using journal::kJournalGlobal;

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

  // The world goes on without a journal. What the one it had knows is not left behind.
  Result<std::unique_ptr<JournalFolder>> detach() {
    if (!link_) return nullptr;
    const std::string path = link_->path.empty() ? beside_ : link_->path;
    if (path.empty()) {
      return invalid_argument(
          "this save has a journal beside it that may know later ticks: open it by its path, or "
          "say "
          "where the journal is");
    }
    VARVE_ASSIGN(const bool is_there, seam_.vfs.exists(path));
    if (!is_there) return nullptr;
    VARVE_ASSIGN(const auto folder, open_folder(path, {}));
    if (folder->meta().id == link_->id) {
      VARVE_TRY(bring_up_to_date(*folder, path, std::nullopt));
      warn("the world goes on without its journal, which is left behind", path);
    }
    VARVE_TRY(folder->close());
    return nullptr;
  }

  Result<std::unique_ptr<JournalFolder>> attach() {
    const JournalConfig& config = *options_.journal;
    const std::string path = config.path.empty() ? beside_ : config.path;
    VARVE_TRY(check(config, path));
    VARVE_ASSIGN(auto folder, open_folder(path, config));
    const bool is_ours = link_ && link_->id == folder->meta().id;
    if (!is_ours && folder->log().latest_tick()) {
      VARVE_TRY(folder->close());
      folder.reset();
      VARVE_TRY(set_aside(path));
      VARVE_ASSIGN(folder, open_folder(path, config));
    } else if (!is_ours) {
      // Made by somebody who did not get as far as telling the save.
      JournalMeta meta = folder->meta();
      meta.base_tick = store_.tick();
      meta.chunk_type = options_.chunk_type->name();
      if (meta != folder->meta()) VARVE_TRY(folder->put_meta(meta));
    }
    if (folder->meta().chunk_type != options_.chunk_type->name()) {
      return invalid_argument(
          fmt::format("{}: the journal has edits of chunks of type '{}', and the world is opened "
                      "with '{}': open it with that type, or without a journal first",
                      path, folder->meta().chunk_type, options_.chunk_type->name()));
    }
    for (const Error& problem : folder->problems())
      warn("the journal is damaged", problem.message());
    const JournalLink link{
        .id = folder->meta().id, .opening = link_ ? link_->opening + 1 : 1, .path = config.path};
    VARVE_TRY(bring_up_to_date(*folder, path, link));
    return folder;
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
    if (config.stretch_ticks == 0) {
      return invalid_argument("journal: stretch_ticks must be at least 1");
    }
    if (options_.write_through.enabled) {
      return invalid_argument(
          "journal: with one every tick is durable, so write_through must be off: it would save "
          "parts of ticks");
    }
    return {};
  }

  Status set_aside(const std::string& path) {
    std::string aside = path + ".detached";
    for (int number = 2;; ++number) {
      VARVE_ASSIGN(const bool is_taken, seam_.vfs.exists(aside));
      if (!is_taken) break;
      aside = fmt::format("{}.detached-{}", path, number);
    }
    VARVE_TRY(seam_.vfs.rename(path, aside));
    VARVE_TRY(seam_.vfs.sync_dir(path_parent(path)));
    warn("a journal that is not this save's was set aside", aside);
    return {};
  }

  // One commit: what the journal knows, and which journal it is. The log follows: what is set aside
  // of it was damaged and is in the save as far as it can be.
  Status bring_up_to_date(JournalFolder& folder, const std::string& path,
                          const std::optional<JournalLink>& link) {
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
