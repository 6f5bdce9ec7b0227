#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/arguments.h"
#include "tool/records.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Selection {
  RecordFilter filter = {};
  std::string key_prefix = {};
};

// "chunk", or "chunk:the_nether/": a kind, and what its keys begin with.
Result<Selection> parse_pattern(const std::string& pattern) {
  const std::string_view word = std::string_view(pattern).substr(0, pattern.find(':'));
  for (const RecordKind kind : kKinds) {
    if (word == to_string(kind)) return Selection{.filter = {.kind = kind}, .key_prefix = pattern};
  }
  return invalid_argument(
      fmt::format("'{}' is no pattern: it begins with chunk, entity, player or global", pattern));
}

Result<Selection> select(const std::optional<std::string>& pattern,
                         const std::optional<std::string>& space,
                         const std::optional<std::string>& box) {
  Selection selection;
  if (pattern) {
    const auto parsed = parse_pattern(*pattern);
    if (!parsed) return parsed;
    selection = *parsed;
  }
  Space in;
  if (space && !space->empty()) {
    const auto named = Space::named(*space);
    if (!named) return named.error();
    in = *named;
  }
  if (space) selection.filter.place.space = in;
  if (box) {
    const auto parsed = parse_box(*box, in);
    if (!parsed) return parsed.error();
    selection.filter.place.box = *parsed;
  }
  return selection;
}

void print_line(const RecordInfo& info, const std::string& key, std::ostream& out) {
  // A tab, which no name has in it, so that a key may have blanks.
  out << key << '\t' << info.size;
  if (info.owner) out << '\t' << to_string(*info.owner);
  out << '\n';
}

void print_json(const RecordInfo& info, const std::string& key, std::ostream& out) {
  Json json = {{"key", key}, {"kind", to_string(info.key.kind)}, {"size", info.size}};
  if (info.owner) json["owner"] = to_string(*info.owner);
  out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int run_ls(Args args, Streams& streams) {
  std::string save;
  std::optional<std::string> pattern, space, box;
  bool json = false;
  Arguments arguments(
      "ls",
      "Lists records, one a line: key, tab, size of the payload in bytes and, of an entity that "
      "has an owner, tab and the owner. Chunks come first, then entities, players and globals; "
      "each kind is sorted by number or name. --space and --box leave chunks and the entities that "
      "stand in them.",
      "varve ls my_world\n"
      "varve ls my_world chunk:the_nether/\n"
      "varve ls my_world chunk --box 0,0:15,15\n"
      "varve ls my_world global:file:");
  arguments.required("SAVE", save, "the save to look at");
  arguments.optional("PATTERN", pattern, "a kind, or a kind, a colon and what keys begin with");
  arguments.option("--space", "NAME", space,
                   "only what is in chunks of this space; '' is the default one");
  arguments.option("--box", "A:B", box, "only what is in chunks from corner A to B, both included");
  arguments.flag("--json", json, "print one JSON object a line");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const auto selection = select(pattern, space, box);
  if (!selection) return wrong_usage(streams, "ls", selection.error().message());

  const auto store = look_at(save);
  if (!store) return could_not(streams, store.error());
  const auto listed = list_records(**store, selection->filter, [&](const RecordInfo& info) {
    const std::string key = to_string(info.key);
    if (!key.starts_with(selection->key_prefix)) return true;
    (json ? print_json : print_line)(info, key, streams.out);
    return streams.out.good();
  });
  if (!listed) return could_not(streams, listed.error().with_context(save));
  for (const RecordProblem& problem : *listed) {
    say(streams, save + ": " + problem_line(problem.key, problem.error));
  }
  const bool is_damaged = say_damage(streams, save, (*store)->open_report());
  return listed->empty() && !is_damaged ? kDone : kProblems;
}

}  // namespace varve::tool
