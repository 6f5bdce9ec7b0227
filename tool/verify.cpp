#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

// What opening found and what reading found; the same problem is named once.
void add_problems(VerifyReport& report, const OpenReport& opening) {
  for (const RecordProblem& found : opening.problems) {
    const bool is_known = std::ranges::any_of(report.problems, [&](const RecordProblem& problem) {
      return problem.key == found.key && problem.error.message() == found.error.message();
    });
    if (!is_known) report.problems.push_back(found);
  }
}

Result<VerifyReport> verify(const std::string& save, Streams& streams, OpenReport& opening) {
  const auto store = look_at(save);
  // A save that is too damaged to be opened is a finding, not a failure.
  if (!store && store.error().code() == ErrorCode::corruption) {
    return VerifyReport{.record_count = 0, .problems = {{.key = save, .error = store.error()}}};
  }
  if (!store) return store.error();
  opening = (*store)->open_report();
  Progress progress;
  const ProgressBar bar(streams, "verifying", progress);
  return (*store)->verify(progress);
}

Json to_json(const std::string& save, const VerifyReport& report, const OpenReport& opening) {
  Json json = {{"save", save},
               {"record_count", report.record_count},
               {"finished_commit", opening.finished_commit},
               {"dropped_tail", opening.dropped_tail},
               {"problems", Json::array()}};
  for (const RecordProblem& problem : report.problems) {
    json["problems"].push_back({{"key", problem.key},
                                {"code", to_string(problem.error.code())},
                                {"message", problem.error.message()}});
  }
  return json;
}

void print_text(const std::string& save, const VerifyReport& report, const OpenReport& opening,
                Streams& streams) {
  for (const RecordProblem& problem : report.problems) {
    streams.out << problem_line(problem.key, problem.error) << '\n';
  }
  const std::string records = counted(report.record_count, "record", "records");
  if (report.clean()) streams.out << records << " read, no problems\n";
  for (const std::string& note : crash_notes(opening)) say(streams, save + ": " + note);
  if (!report.clean()) {
    say(streams, fmt::format("{}: {} in {}", save,
                             counted(report.problems.size(), "problem", "problems"), records));
  }
}

}  // namespace

int run_verify(Args args, Streams& streams) {
  std::string save;
  bool json = false;
  Arguments arguments(
      "verify",
      "Reads everything in a save and compares it with every checksum and reference "
      "its format has. Each problem is a line: key, colon, what is wrong. Nothing is "
      "changed. Exit 1 if there is a problem.",
      "varve verify my_world\nvarve verify my_world --json");
  arguments.required("SAVE", save, "the save to read");
  arguments.flag("--json", json, "print one JSON object");
  if (const auto code = arguments.parse(args, streams)) return *code;

  OpenReport opening;
  auto report = verify(save, streams, opening);
  if (!report) return could_not(streams, report.error());
  add_problems(*report, opening);
  if (json) {
    streams.out
        << to_json(save, *report, opening).dump(2, ' ', false, Json::error_handler_t::replace)
        << '\n';
  } else {
    print_text(save, *report, opening, streams);
  }
  return report->clean() ? kDone : kProblems;
}

}  // namespace varve::tool
