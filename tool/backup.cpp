#include "varve/backup.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/saves.h"
#include "varve/journal.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Request {
  std::string from;
  std::string to;
  bool restore = false;
  bool json = false;
};

Result<BackupReport> back_up(const Request& request, Streams& streams, bool& has_damage) {
  std::error_code ignored;
  if (std::filesystem::equivalent(request.from, request.to, ignored)) {
    return invalid_argument(
        fmt::format("{} and {} are the same save; choose another path", request.from, request.to));
  }
  Progress progress;
  if (request.restore) {
    const ProgressBar bar(streams, "restoring", progress);
    return restore_backup(request.from, request.to, progress);
  }
  const auto source = look_at(request.from);
  if (!source) return source.error();
  has_damage = say_damage(streams, request.from, (*source)->open_report());
  auto report = [&] {
    const ProgressBar bar(streams, "backing up", progress);
    return varve::back_up(**source, request.to, {}, progress);
  }();
  const Status closed = (*source)->close();
  if (report && !closed) return closed.error();
  return report;
}

// What its journal knows is brought back when the save is opened with it, whatever was restored.
void say_if_journal(const Request& request, Streams& streams) {
  const auto restored = look_at(request.to);
  if (!restored) return;
  const auto link = (*restored)->read_global(kJournalGlobal);
  if (!link || !*link) return;
  say(streams, fmt::format("{} has a journal, and when it is opened with that it goes on where the "
                           "journal ends, not at the backup; to stay at the backup move {}.journal "
                           "away first, to undo single things use `varve rollback`",
                           request.to, request.to));
}

void print_text(const Request& request, const BackupReport& report, Streams& streams) {
  const std::string copied =
      fmt::format("{} copied, {}", counted(report.copied_count, "value", "values"),
                  counted(report.copied_size, "byte", "bytes"));
  streams.out << fmt::format("{}: generation {}, tick {}; {}", request.to, report.generation,
                             report.tick, copied);
  if (report.incremental) {
    streams.out << fmt::format(", {} erased, {} unchanged", report.erased_count,
                               report.unchanged_count);
  }
  streams.out << '\n';
}

Json to_json(const Request& request, const BackupReport& report) {
  return {{"source", request.from},
          {"target", request.to},
          {"generation", report.generation},
          {"tick", report.tick},
          {"incremental", report.incremental},
          {"copied_count", report.copied_count},
          {"copied_size", report.copied_size},
          {"erased_count", report.erased_count},
          {"unchanged_count", report.unchanged_count}};
}

}  // namespace

int run_backup(Args args, Streams& streams) {
  Request request;
  Arguments arguments(
      "backup",
      "Copies a save of the varve format as it is at one moment, also while a game writes it. A "
      "target that holds an older backup of it is brought up to date by what changed since; a "
      "crash leaves it old or new. A backup is a save like any other. With --restore the first "
      "path is the backup and the second the save it becomes, which must be closed; what was "
      "there is kept beside it, under the ending .before-restore.",
      "varve backup my_world backups/my_world\n"
      "varve backup --restore backups/my_world my_world");
  arguments.required("SAVE", request.from, "the save to read; it is not changed");
  arguments.required("TARGET", request.to, "where the copy is to be");
  arguments.flag("--restore", request.restore, "bring a backup back: BACKUP SAVE");
  arguments.flag("--json", request.json, "print the report as one JSON object");
  if (const auto code = arguments.parse(args, streams)) return *code;
  if (names_other_format(request.to, "varve")) {
    return wrong_usage(streams, "backup",
                       fmt::format("{} names another format than varve; a path that begins with ./ "
                                   "names none",
                                   request.to));
  }
  bool has_damage = false;
  const auto report = back_up(request, streams, has_damage);
  if (!report) return could_not(streams, report.error());
  if (request.restore) say_if_journal(request, streams);
  if (request.json) {
    streams.out << to_json(request, *report).dump(2, ' ', false, Json::error_handler_t::replace)
                << '\n';
  } else {
    print_text(request, *report, streams);
  }
  return has_damage ? kProblems : kDone;
}

}  // namespace varve::tool
