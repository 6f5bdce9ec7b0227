#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/arguments.h"
#include "tool/histories.h"
#include "tool/saves.h"
#include "varve/nebula.h"
#include "varve/world.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Request {
  std::string save;
  RollbackRequest what = {};
  bool dry_run = false;
  bool json = false;
};

std::string put_or_erased(const std::optional<std::uint64_t>& size) {
  return size ? "put " + counted(*size, "byte", "bytes") : "erased";
}
template <class Data>
std::optional<std::uint64_t> size_of(const std::optional<Data>& data) {
  if (!data) return std::nullopt;
  if constexpr (std::is_same_v<Data, EntityValue>) {
    return data->data.size();
  } else {
    return data->size();
  }
}

// A record, tab, what becomes of it.
std::vector<std::pair<std::string, std::string>> lines_of(const RollbackPlan& plan) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::map<ChunkPos, std::uint64_t> edits;
  for (const ChunkEdit& edit : plan.edits) ++edits[edit.pos];
  for (const auto& [pos, count] : edits) {
    lines.emplace_back(to_string(pos), counted(count, "cell", "cells"));
  }
  for (const ChunkChange& c : plan.chunks) {
    lines.emplace_back(to_string(c.pos), put_or_erased(size_of(c.payload)));
  }
  for (const EntityChange& c : plan.entities) {
    lines.emplace_back(entity_key(c.id), put_or_erased(size_of(c.value)));
  }
  for (const NamedChange& c : plan.players) {
    lines.emplace_back(player_key(c.name), put_or_erased(size_of(c.data)));
  }
  for (const NamedChange& c : plan.globals) {
    lines.emplace_back(global_key(c.name), put_or_erased(size_of(c.data)));
  }
  return lines;
}

void print(const Request& request, const RollbackPlan& plan,
           const std::optional<std::uint64_t>& tick, std::ostream& out) {
  const auto lines = lines_of(plan);
  if (!request.json) {
    for (const auto& [key, what] : lines) out << key << '\t' << what << '\n';
    return;
  }
  Json records = Json::array();
  for (const auto& [key, what] : lines) records.push_back({{"key", key}, {"what", what}});
  Json problems = Json::array();
  for (const RecordProblem& problem : plan.problems) {
    problems.push_back({{"key", problem.key},
                        {"code", to_string(problem.error.code())},
                        {"message", problem.error.message()}});
  }
  Json json = {{"save", request.save}, {"to", request.what.tick}, {"tick", nullptr}};
  if (tick) json["tick"] = *tick;
  json["records"] = std::move(records);
  json["problems"] = std::move(problems);
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

int report(const Request& request, const RollbackPlan& plan,
           const std::optional<std::uint64_t>& tick, Streams& streams) {
  print(request, plan, tick, streams.out);
  for (const RecordProblem& problem : plan.problems) {
    say(streams, request.save + ": " + problem_line(problem.key, problem.error));
  }
  return plan.problems.empty() ? kDone : kProblems;
}

int show(const Request& request, Streams& streams) {
  const auto history = look_back(request.save);
  if (!history) return could_not(streams, history.error());
  const auto plan = (*history)->plan_rollback(request.what);
  if (!plan) return could_not(streams, plan.error().with_context(request.save));
  return report(request, *plan, std::nullopt, streams);
}

// With the chunk type its journal names, if it is one of Varve's own.
Result<std::unique_ptr<World>> open_world(const Request& request) {
  WorldOptions options;
  {
    const auto history = look_back(request.save);
    if (!history) return history.error();
    const std::string_view name = (*history)->chunk_type_name();
    if (name == nebula::voxel_chunks()->name()) {
      options.chunk_type = nebula::voxel_chunks();
    } else if (name != raw_chunks()->name()) {
      return unsupported(
          fmt::format("{}: needs chunk type {}, which only its game has; see "
                      "World::roll_back",
                      request.save, name));
    }
  }
  options.journal = JournalConfig();
  // Nothing of the past goes because somebody looked at it.
  options.journal->history_ticks = ~std::uint64_t{0};
  return World::open(request.save, std::move(options));
}

Result<std::uint64_t> roll_back(World& world, const RollbackRequest& request, RollbackPlan& plan) {
  {
    const auto history = world.history();
    if (!history) return history.error();
    auto planned = (*history)->plan_rollback(request);
    if (!planned) return planned.error();
    plan = *std::move(planned);
  }
  if (plan.empty()) return world.current_tick();
  return world.roll_back(plan);
}

int do_it(const Request& request, Streams& streams) {
  const auto world = open_world(request);
  if (!world) return could_not(streams, world.error());
  RollbackPlan plan;
  const auto tick = roll_back(**world, request.what, plan);
  // What was begun and could not be ended is not kept.
  const Status closed = (*world)->close(tick ? World::Unsaved::save : World::Unsaved::discard);
  if (!tick) return could_not(streams, tick.error().with_context(request.save));
  if (!closed) return could_not(streams, closed.error().with_context(request.save));
  return report(request, plan, *tick, streams);
}

}  // namespace

int run_rollback(Args args, Streams& streams) {
  Request request;
  std::string to;
  std::vector<std::string> chunks;
  std::optional<std::string> space, box, author;
  Arguments arguments(
      "rollback",
      "Puts a save that has a journal back to what it was after a tick: all of it, the chunks of a "
      "box or those named, with the entities that stood or stand in them, or what one author did "
      "since and nobody changed later. It is a tick of its own, which can be rolled back. Prints "
      "what it did: key, tab, what became of it. Exit 1 if the past of a record cannot be told; it "
      "stays as it is.",
      "varve rollback my_world --to 71000 --dry-run\n"
      "varve rollback my_world --to 71000 --author griefer --box 0,0:15,15\n"
      "varve rollback my_world --to 71000 --chunk 3,-2 --chunk 3,-1");
  arguments.required("SAVE", request.save, "the save to change");
  arguments.required_option("--to", "TICK", to, "the tick to go back to");
  arguments.option("--space", "NAME", space, "the space the box is in; none: the default one");
  arguments.option("--box", "A:B", box, "only chunks from corner A to B, both included");
  arguments.repeated_option("--chunk", "POS", chunks, "only this chunk; may be given again");
  arguments.option("--author", "NAME", author, "only what this author did");
  arguments.flag("--dry-run", request.dry_run, "say what would be done, and do nothing");
  arguments.flag("--json", request.json, "print one JSON object");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const auto tick = parse_tick(to);
  if (!tick) return wrong_usage(streams, "rollback", tick.error().message());
  request.what.tick = *tick;
  if (const Status placed = parse_place(space, box, request.what.box); !placed) {
    return wrong_usage(streams, "rollback", placed.error().message());
  }
  for (const std::string& text : chunks) {
    const auto pos = parse_position(text);
    if (!pos) return wrong_usage(streams, "rollback", pos.error().message());
    request.what.chunks.push_back(*pos);
  }
  if (author && author->empty()) return wrong_usage(streams, "rollback", "an author has a name");
  request.what.author = author.value_or("");
  return request.dry_run ? show(request, streams) : do_it(request, streams);
}

}  // namespace varve::tool
