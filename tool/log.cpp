#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "tool/arguments.h"
#include "tool/histories.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Counts {
  std::uint64_t edit_count = 0;
  std::uint64_t chunk_count = 0;  // put or erased whole
  std::uint64_t entity_count = 0;
  std::uint64_t player_count = 0;
  std::uint64_t global_count = 0;
};

Counts counts_of(const TickMutations& m) {
  std::set<EntityId> entities;
  const auto add = [&](const auto& list) {
    for (const auto& mutation : list) entities.insert(mutation.entity);
  };
  add(m.despawns);
  add(m.spawns);
  add(m.removals);
  add(m.inserts);
  add(m.moves);
  return {.edit_count = m.edits.size(),
          .chunk_count = m.puts.size(),
          .entity_count = entities.size(),
          .player_count = m.players.size(),
          .global_count = m.globals.size()};
}

void print_line(std::uint64_t tick, const TickMutations& mutations, std::ostream& out) {
  const Counts counts = counts_of(mutations);
  std::string what;
  const auto add = [&](std::uint64_t count, std::string_view one, std::string_view many) {
    if (count != 0) what += (what.empty() ? "" : ", ") + counted(count, one, many);
  };
  add(counts.edit_count, "edit", "edits");
  add(counts.chunk_count, "chunk", "chunks");
  add(counts.entity_count, "entity", "entities");
  add(counts.player_count, "player", "players");
  add(counts.global_count, "global", "globals");
  out << tick << '\t' << (what.empty() ? "nothing" : what);
  for (std::size_t i = 0; i < mutations.authors.size(); ++i) {
    out << (i == 0 ? "\t" : ", ") << mutations.authors[i];
  }
  out << '\n';
}

void print_json(std::uint64_t tick, const TickMutations& mutations, std::ostream& out) {
  const Counts counts = counts_of(mutations);
  const Json json = {{"tick", tick},
                     {"edits", counts.edit_count},
                     {"chunks", counts.chunk_count},
                     {"entities", counts.entity_count},
                     {"players", counts.player_count},
                     {"globals", counts.global_count},
                     {"authors", mutations.authors}};
  out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int run_log(Args args, Streams& streams) {
  std::string save;
  std::optional<std::string> from, to;
  bool json = false;
  Arguments arguments(
      "log",
      "Lists the ticks of a save's journal that changed something, one a line: the tick, tab, what "
      "changed and, if somebody did it, tab and their names. Edits are counted one by one, chunks "
      "that were put or erased whole as chunks.",
      "varve log my_world\n"
      "varve log my_world --from 71000 --to 72000 --json");
  arguments.required("SAVE", save, "the save, which a game opened with a journal");
  arguments.option("--from", "TICK", from, "the first tick; none: the oldest");
  arguments.option("--to", "TICK", to, "the last tick; none: the latest");
  arguments.flag("--json", json, "print one JSON object a line");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const auto range = parse_ticks(from, to);
  if (!range) return wrong_usage(streams, "log", range.error().message());

  const auto history = look_back(save);
  if (!history) return could_not(streams, history.error());
  const Status read =
      (*history)->for_each_tick(*range, [&](std::uint64_t tick, const TickMutations& mutations) {
        (json ? print_json : print_line)(tick, mutations, streams.out);
        return streams.out.good();
      });
  return read ? kDone : could_not(streams, read.error().with_context(save));
}

}  // namespace varve::tool
