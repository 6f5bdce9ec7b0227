#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/record_copy.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

// Long, so that nobody gives it to a save by accident.
constexpr std::string_view kUnfinishedSuffix = ".unfinished-convert";

struct Conversion {
  std::string source;
  std::string target;
  std::string to;
  bool lossy = false;
  bool json = false;
};

// What came of it. Without an error: `report` says whether it is whole, and if it is
// `refused`, that nothing is at the target.
struct Outcome {
  std::string from;
  std::uint64_t tick = 0;
  CopyReport report = {};
  bool refused = false;
};

// Beside the target, not in it: "copy/" and "copy" are one place.
std::string unfinished_path(std::string target) {
  while (target.size() > 1 && target.ends_with('/')) target.pop_back();
  return target + std::string(kUnfinishedSuffix);
}

Status is_free(const std::string& path) {
  const auto there = detect_format(path);
  if (!there && there.error().code() == ErrorCode::not_found) return {};
  if (!there && there.error().code() != ErrorCode::unsupported) return there.error();
  return invalid_argument(fmt::format("{} exists already; choose another path or remove it", path));
}

// Copies into `target`, which is empty, and closes it.
Status fill(const Conversion& conversion, const Store& source, Store& target, RecordCopy& copy,
            Streams& streams, Outcome& outcome) {
  if (!target.capabilities().durable) {
    return unsupported(
        fmt::format("{} does not outlive this program; choose another format", conversion.to));
  }
  Status status = copy.scan();
  if (status && (conversion.lossy || copy.report().left_out.empty())) {
    Progress progress;
    const ProgressBar bar(streams, "copying", progress);
    status = copy.copy(progress);
  }
  const Status closed = target.close();
  outcome.tick = source.tick();
  outcome.refused = !conversion.lossy && !copy.report().left_out.empty();
  return status ? closed : status;
}

Status compare(const Format& format, const std::string& path, const RecordCopy& copy,
               Streams& streams) {
  const auto copied = format.open_to_read(path);
  if (!copied) return copied.error();
  Progress progress;
  const ProgressBar bar(streams, "comparing", progress);
  const Status same = copy.compare(**copied, progress);
  const Status closed = (*copied)->close();
  return same ? closed : same;
}

// Without the name of a format before it.
std::string as_path(const std::string& path) {
  const auto colon = path.find(':');
  return colon != std::string::npos && find_format(path.substr(0, colon)) ? path.substr(colon + 1)
                                                                          : path;
}

// Whatever links lead there. Names that are no paths lie in nothing.
bool lies_in(const std::string& path, const std::string& folder) {
  std::error_code failed;
  const auto inner = std::filesystem::weakly_canonical(as_path(path), failed);
  if (failed) return false;
  const auto outer = std::filesystem::canonical(as_path(folder), failed);
  if (failed) return false;
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

Result<Outcome> convert(const Conversion& conversion, const Format& format, Streams& streams) {
  if (Status free = is_free(conversion.target); !free) return free.error();
  const auto source = look_at(conversion.source);
  if (!source) return source.error();

  // Under another name until it is whole: whatever interrupts this leaves nothing at the
  // path itself, and the next attempt removes what is left.
  const std::string unfinished = unfinished_path(conversion.target);
  std::error_code ignored;
  if (std::filesystem::equivalent(conversion.source, unfinished, ignored)) {
    return invalid_argument(fmt::format(
        "{} is what an interrupted convert to {} left, and would be removed; choose another DST",
        conversion.source, conversion.target));
  }
  if (lies_in(conversion.target, conversion.source)) {
    return invalid_argument(fmt::format("{} lies in {} and would go with it; choose another DST",
                                        conversion.target, conversion.source));
  }
  if (Status removed = format.remove(unfinished); !removed) return removed.error();
  auto target = format.create(unfinished);
  if (!target) return target.error();
  Outcome outcome{.from = (*source)->capabilities().format};
  RecordCopy copy(**source, **target);
  Status done = fill(conversion, **source, **target, copy, streams, outcome);
  outcome.report = copy.report();
  if (done && !outcome.refused) done = compare(format, unfinished, copy, streams);
  target->reset();
  if (done && !outcome.refused) done = format.rename(unfinished, conversion.target);
  if (done && !outcome.refused) return outcome;
  const Status removed = format.remove(unfinished);
  if (!done) return done.error();
  if (!removed) return removed.error();
  return outcome;
}

void print_text(const Conversion& conversion, const Outcome& outcome, Streams& streams) {
  const CopyReport& report = outcome.report;
  for (const RecordProblem& each : report.left_out) {
    streams.out << problem_line(each.key, each.error) << '\n';
  }
  if (outcome.refused) {
    say(streams, fmt::format("{} cannot be converted to {} whole, see the list, so nothing was "
                             "written; --lossy converts the rest",
                             conversion.source, conversion.to));
    return;
  }
  const auto count = [&](RecordKind kind, std::string_view one, std::string_view many) {
    return counted(report.kinds[static_cast<std::size_t>(kind)].count, one, many);
  };
  std::uint64_t size = 0;
  for (const KindCopied& kind : report.kinds) size += kind.size;
  streams.out << fmt::format(
      "{}, {}, {} and {} converted, {}\n", count(RecordKind::chunk, "chunk", "chunks"),
      count(RecordKind::entity, "entity", "entities"),
      count(RecordKind::player, "player", "players"),
      count(RecordKind::global, "global", "globals"), counted(size, "byte", "bytes"));
  if (!report.left_out.empty()) {
    say(streams, fmt::format("what is listed, {}, was left out of {}",
                             counted(report.left_out.size(), "line", "lines"), conversion.target));
  }
}

Json to_json(const Conversion& conversion, const Outcome& outcome) {
  Json json = {{"source", conversion.source}, {"from", outcome.from},
               {"target", conversion.target}, {"to", conversion.to},
               {"tick", outcome.tick},        {"converted", !outcome.refused}};
  for (const RecordKind kind : kKinds) {
    // Of a conversion that was refused nothing is left, however far it came.
    const KindCopied sum =
        outcome.refused ? KindCopied() : outcome.report.kinds[static_cast<std::size_t>(kind)];
    json["records"][std::string(to_string(kind))] = {{"count", sum.count}, {"size", sum.size}};
  }
  json["left_out"] = Json::array();
  for (const RecordProblem& each : outcome.report.left_out) {
    json["left_out"].push_back({{"key", each.key},
                                {"code", to_string(each.error.code())},
                                {"message", each.error.message()}});
  }
  return json;
}

}  // namespace

int run_convert(Args args, Streams& streams) {
  Conversion conversion;
  Arguments arguments(
      "convert",
      "Copies every record of a save, its generator and its tick into a new save of another "
      "format, and reads the copy back to compare it. What the format cannot carry and what is "
      "damaged is listed, and nothing is written unless --lossy is given. Exit 1 if something was "
      "left out, 3 if there is no copy.",
      "varve convert my_world copy --to nebula\n"
      "varve convert my_world copy --to nebula --lossy --json");
  arguments.required("SRC", conversion.source, "the save to read; it is not changed");
  arguments.required("DST", conversion.target, "the save to make; nothing may be there yet");
  arguments.required_option("--to", "FORMAT", conversion.to, "the format of the new save");
  arguments.flag("--lossy", conversion.lossy, "leave out what cannot be carried");
  arguments.flag("--json", conversion.json, "print the report as one JSON object");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const auto format = find_format(conversion.to);
  if (!format) return wrong_usage(streams, "convert", format.error().message());

  if (names_other_format(conversion.target, conversion.to)) {
    return wrong_usage(streams, "convert",
                       fmt::format("{} names another format than {}; a path that begins with ./ "
                                   "names none",
                                   conversion.target, conversion.to));
  }
  const auto outcome = convert(conversion, **format, streams);
  if (!outcome) return could_not(streams, outcome.error());
  if (conversion.json) {
    streams.out << to_json(conversion, *outcome).dump(2, ' ', false, Json::error_handler_t::replace)
                << '\n';
  } else {
    print_text(conversion, *outcome, streams);
  }
  if (outcome->refused) return kCouldNot;
  return outcome->report.left_out.empty() ? kDone : kProblems;
}

}  // namespace varve::tool
