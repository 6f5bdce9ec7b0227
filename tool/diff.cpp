#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "tool/arguments.h"
#include "tool/histories.h"
#include "tool/progress_bar.h"
#include "tool/record_digest.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Request {
  std::string save;
  std::optional<std::string> other = {};
  std::optional<std::string> from = {};
  std::optional<std::string> to = {};
  std::optional<ChunkBox> box = {};
  bool json = false;
};

std::string side(const std::optional<std::uint64_t>& size) {
  return size ? std::to_string(*size) : "none";
}

void print(const RecordDifference& difference, bool json, std::ostream& out) {
  const std::string key = to_string(difference.key);
  if (!json) {
    out << key << '\t' << side(difference.size_before) << '\t' << side(difference.size_after)
        << '\n';
    return;
  }
  Json line = {{"key", key}, {"size_before", nullptr}, {"size_after", nullptr}};
  if (difference.size_before) line["size_before"] = *difference.size_before;
  if (difference.size_after) line["size_after"] = *difference.size_after;
  out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

int print_all(const std::vector<RecordDifference>& found, bool json, Streams& streams) {
  for (const RecordDifference& difference : found) {
    if (!streams.out.good()) break;
    print(difference, json, streams.out);
  }
  return found.empty() ? kDone : kProblems;
}

// --- Two ticks of one save -------------------------------------------------------------

int diff_ticks(const Request& request, Streams& streams) {
  const auto from = parse_tick(*request.from);
  if (!from) return wrong_usage(streams, "diff", from.error().message());
  const auto to = parse_tick(*request.to);
  if (!to) return wrong_usage(streams, "diff", to.error().message());
  const auto history = look_back(request.save);
  if (!history) return could_not(streams, history.error());
  const auto found = (*history)->diff(*from, *to, request.box);
  if (!found) return could_not(streams, found.error().with_context(request.save));
  return print_all(*found, request.json, streams);
}

// --- Two saves -------------------------------------------------------------------------

// By kind and text of the key.
using Digests = std::map<std::pair<RecordKind, std::string>, std::pair<RecordKey, RecordDigest>>;

// What is damaged is said, and has no digest.
Result<Digests> digests_of(const std::string& save, const Request& request, Streams& streams,
                           bool& has_damage) {
  const auto store = look_at(save);
  if (!store) return store.error();
  Progress progress;
  const ProgressBar bar(streams, "reading", progress);
  const auto count = count_records(**store);
  if (!count) return count.error();
  Digests digests;
  Status status;
  std::uint64_t done_count = 0;
  RecordFilter filter;
  filter.place.box = request.box;
  const auto listed = list_records(**store, filter, [&](const RecordInfo& info) {
    progress.report(static_cast<double>(++done_count) / static_cast<double>(*count + 1));
    const auto record = read_record(**store, info.key);
    const std::string key = to_string(info.key);
    if (record && *record) {
      digests.emplace(std::pair(info.key.kind, key), std::pair(info.key, digest_of(**record)));
    } else if (record) {
      status = busy(key + ": it was erased meanwhile; try again");
    } else if (is_of_record(record.error())) {
      say(streams, save + ": " + problem_line(key, record.error()));
      has_damage = true;
    } else {
      status = Error(record.error().code(), problem_line(key, record.error()));
    }
    return status.has_value();
  });
  if (!listed) return listed.error();
  if (!status) return status.error();
  for (const RecordProblem& problem : *listed) {
    say(streams, save + ": " + problem_line(problem.key, problem.error));
    has_damage = true;
  }
  has_damage |= say_damage(streams, save, (*store)->open_report());
  return digests;
}

int diff_saves(const Request& request, Streams& streams) {
  bool has_damage = false;
  const auto before = digests_of(request.save, request, streams, has_damage);
  if (!before) return could_not(streams, before.error());
  const auto after = digests_of(*request.other, request, streams, has_damage);
  if (!after) return could_not(streams, after.error());
  std::vector<RecordDifference> found;
  auto a = before->begin();
  auto b = after->begin();
  while (a != before->end() || b != after->end()) {
    const bool has_a = a != before->end() && (b == after->end() || a->first <= b->first);
    const bool has_b = b != after->end() && (a == before->end() || b->first <= a->first);
    RecordDifference difference{.key = has_a ? a->second.first : b->second.first};
    const bool is_same = has_a && has_b && a->second.second == b->second.second;
    if (has_a) difference.size_before = (a++)->second.second.size;
    if (has_b) difference.size_after = (b++)->second.second.size;
    if (!is_same) found.push_back(std::move(difference));
  }
  const int code = print_all(found, request.json, streams);
  return has_damage ? kProblems : code;
}

}  // namespace

int run_diff(Args args, Streams& streams) {
  Request request;
  std::optional<std::string> space, box;
  Arguments arguments(
      "diff",
      "Lists the records that are not the same in two saves, whatever their formats, or after two "
      "ticks of one save, one a line: key, tab, its size before, tab, its size after; none where "
      "it is not there. Exit 1 if there is any. A box leaves chunks and the entities that stand in "
      "them.",
      "varve diff my_world my_world.backup\n"
      "varve diff my_world --from 71000 --to 72000\n"
      "varve diff my_world --from 71000 --to 72000 --box 0,0:15,15");
  arguments.required("SAVE", request.save, "the save");
  arguments.optional("OTHER", request.other, "the save to compare it with");
  arguments.option("--from", "TICK", request.from, "the first tick, of a save with a journal");
  arguments.option("--to", "TICK", request.to, "the tick to compare it with");
  arguments.option("--space", "NAME", space, "the space the box is in; none: the default one");
  arguments.option("--box", "A:B", box, "only what is in chunks from corner A to B, both included");
  arguments.flag("--json", request.json, "print one JSON object a line");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const bool has_ticks = request.from && request.to;
  if (request.other.has_value() == has_ticks || request.from.has_value() != has_ticks ||
      request.to.has_value() != has_ticks) {
    return wrong_usage(streams, "diff", "expected another save, or --from and --to");
  }
  if (const Status placed = parse_place(space, box, request.box); !placed) {
    return wrong_usage(streams, "diff", placed.error().message());
  }
  return request.other ? diff_saves(request, streams) : diff_ticks(request, streams);
}

}  // namespace varve::tool
