#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/record_digest.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string json_line(const RecordKey& key, const RecordDigest& digest) {
  const Json json = {{"kind", to_string(key.kind)},
                     {"key", to_string(key)},
                     {"size", digest.size},
                     {"crc32", fmt::format("{:08x}", digest.crc32)},
                     {"xxh3", fmt::format("{:016x}", digest.xxh3)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Digests {
  // Sorted as texts, so that sort, comm and join agree with the order.
  std::vector<std::string> lines = {};
  std::vector<RecordProblem> damaged = {};
};

Result<Digests> digest_all(const StoreView& view, bool json, Progress& progress) {
  const auto count = count_records(view);
  if (!count) return count.error();
  Digests digests;
  digests.lines.reserve(*count);
  Status status;
  std::uint64_t done_count = 0;
  auto listed = list_records(view, {}, [&](const RecordInfo& info) {
    progress.report(static_cast<double>(++done_count) / static_cast<double>(*count + 1));
    const auto record = read_record(view, info.key);
    if (record && *record) {
      const RecordDigest digest = digest_of(**record);
      digests.lines.push_back((json ? json_line : digest_line)(info.key, digest));
    } else if (record) {
      status = busy(to_string(info.key) + ": it was erased meanwhile; try again");
    } else if (is_of_record(record.error())) {
      digests.damaged.push_back({.key = to_string(info.key), .error = record.error()});
    } else {
      status = Error(record.error().code(), problem_line(to_string(info.key), record.error()));
    }
    return status.has_value();
  });
  if (!listed) return listed.error();
  if (!status) return status.error();
  std::ranges::move(*listed, std::back_inserter(digests.damaged));
  std::ranges::sort(digests.lines);
  return digests;
}

}  // namespace

int run_digest(Args args, Streams& streams) {
  std::string save;
  bool json = false;
  Arguments arguments(
      "digest",
      "Prints one line for each record, sorted: kind, key, size, crc32 and xxh3 of the decoded "
      "payload. Two saves with the same digest hold the same world, whatever their formats. Of an "
      "entity that has an owner, the checksums are of the owner's key, a newline and the payload. "
      "In keys a blank is printed as %20, a percent sign as %25, other blanks likewise. Exit 1 if "
      "a record is damaged; "
      "it is then named on standard error and has no line.",
      "varve digest my_world\ndiff <(varve digest a) <(varve digest b)");
  arguments.required("SAVE", save, "the save to read");
  arguments.flag("--json", json, "print one JSON object a line");
  if (const auto code = arguments.parse(args, streams)) return *code;

  const auto store = look_at(save);
  if (!store) return could_not(streams, store.error());
  const auto digests = [&] {
    Progress progress;
    const ProgressBar bar(streams, "reading", progress);
    return digest_all(**store, json, progress);
  }();
  if (!digests) return could_not(streams, digests.error().with_context(save));
  for (const std::string& line : digests->lines) {
    if (!streams.out.good()) break;
    streams.out << line << '\n';
  }
  for (const RecordProblem& problem : digests->damaged) {
    say(streams, save + ": " + problem_line(problem.key, problem.error));
  }
  const bool is_damaged = say_damage(streams, save, (*store)->open_report());
  return digests->damaged.empty() && !is_damaged ? kDone : kProblems;
}

}  // namespace varve::tool
