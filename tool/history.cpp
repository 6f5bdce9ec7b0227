#include "varve/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "tool/arguments.h"
#include "tool/histories.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Event {
  std::uint64_t tick = 0;
  std::string what = {};
  std::string author = {};
  Json details = Json::object();
};

struct Request {
  std::string save;
  RecordKey key = {};
  std::optional<std::string> cell = {};
  TickRange range = {};
};

Event put_event(std::uint64_t tick, const std::string& author, std::uint64_t size) {
  return {.tick = tick,
          .what = "put " + counted(size, "byte", "bytes"),
          .author = author,
          .details = {{"what", "put"}, {"size", size}}};
}
Event gone_event(std::uint64_t tick, const std::string& author) {
  return {.tick = tick, .what = "erased", .author = author, .details = {{"what", "erased"}}};
}

Result<std::vector<Event>> of_chunk(const WorldHistory& history, const Request& request) {
  const auto told = history.chunk_history(request.key.pos, request.range);
  if (!told) return told.error();
  std::vector<Event> events;
  for (const ChunkEvent& event : *told) {
    if (event.kind == ChunkEvent::Kind::edit) {
      const std::string edit = hex_text(event.edit);
      events.push_back({.tick = event.tick,
                        .what = "edit " + edit,
                        .author = event.author,
                        .details = {{"what", "edit"}, {"edit", edit}}});
    } else if (event.kind == ChunkEvent::Kind::put) {
      events.push_back({.tick = event.tick,
                        .what = "put",
                        .author = event.author,
                        .details = {{"what", "put"}}});
    } else {
      events.push_back(gone_event(event.tick, event.author));
    }
  }
  return events;
}

Result<std::vector<Event>> of_cell(const WorldHistory& history, const Request& request) {
  const auto cell = parse_cell(*request.cell, history.chunk_type_name());
  if (!cell) return cell.error();
  const auto told = history.block_history(request.key.pos, *cell, request.range);
  if (!told) return told.error();
  std::vector<Event> events;
  for (const CellEvent& event : *told) {
    if (!event.value) {
      events.push_back(gone_event(event.tick, event.author));
      continue;
    }
    const std::string value = cell_text(*event.value, history.chunk_type_name());
    events.push_back({.tick = event.tick,
                      .what = value,
                      .author = event.author,
                      .details = {{"what", "set"}, {"value", value}}});
  }
  return events;
}

Result<std::vector<Event>> of_entity(const WorldHistory& history, const Request& request) {
  const auto told = history.entity_history(request.key.id, request.range);
  if (!told) return told.error();
  std::vector<Event> events;
  for (const EntityEvent& event : *told) {
    if (!event.value) {
      events.push_back(gone_event(event.tick, event.author));
      continue;
    }
    Event& put = events.emplace_back(put_event(event.tick, event.author, event.value->data.size()));
    if (!event.value->owner) continue;
    put.what += " in " + to_string(*event.value->owner);
    put.details["owner"] = to_string(*event.value->owner);
  }
  return events;
}

// Few enough ticks change one of these that the log is read for it.
Result<std::vector<Event>> of_named(const WorldHistory& history, const Request& request) {
  std::vector<Event> events;
  const bool is_player = request.key.kind == RecordKind::player;
  const Status read =
      history.for_each_tick(request.range, [&](std::uint64_t tick, const TickMutations& mutations) {
        const auto& list = is_player ? mutations.players : mutations.globals;
        const auto change = std::ranges::find(list, request.key.name, &NamedMutation::name);
        if (change == list.end()) return true;
        const std::string author =
            change->author == 0 ? std::string() : mutations.authors[change->author - 1];
        events.push_back(change->data ? put_event(tick, author, change->data->size())
                                      : gone_event(tick, author));
        return true;
      });
  if (!read) return read.error();
  return events;
}

Result<std::vector<Event>> events_of(const WorldHistory& history, const Request& request) {
  switch (request.key.kind) {
    case RecordKind::chunk:
      return request.cell ? of_cell(history, request) : of_chunk(history, request);
    case RecordKind::entity:
      return of_entity(history, request);
    case RecordKind::player:
    case RecordKind::global:
      break;
  }
  return of_named(history, request);
}

void print(const Event& event, bool json, std::ostream& out) {
  if (json) {
    Json line = {{"tick", event.tick}};
    line.update(event.details);
    if (!event.author.empty()) line["author"] = event.author;
    out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    return;
  }
  out << event.tick << '\t' << event.what;
  if (!event.author.empty()) out << '\t' << event.author;
  out << '\n';
}

}  // namespace

int run_history(Args args, Streams& streams) {
  Request request;
  std::string key_text;
  std::optional<std::string> from, to;
  bool json = false;
  Arguments arguments(
      "history",
      "Says what happened to a record, one change a line: the tick, tab, what and, if somebody did "
      "it, tab and who. With --cell, what came to stand in one cell of a chunk.",
      "varve history my_world chunk:3,-2\n"
      "varve history my_world chunk:3,-2 --cell 128,4\n"
      "varve history my_world entity:17 --from 71000");
  arguments.required("SAVE", request.save, "the save, which a game opened with a journal");
  arguments.required("KEY", key_text, "the record, such as chunk:3,-2");
  arguments.option("--cell", "CELL", request.cell,
                   "OFFSET,SIZE of a raw chunk, X,Y,Z of a voxel chunk");
  arguments.option("--from", "TICK", from, "the first tick; none: the oldest");
  arguments.option("--to", "TICK", to, "the last tick; none: the latest");
  arguments.flag("--json", json, "print one JSON object a line");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const auto key = parse_record_key(key_text);
  if (!key) return wrong_usage(streams, "history", key.error().message());
  request.key = *key;
  const auto range = parse_ticks(from, to);
  if (!range) return wrong_usage(streams, "history", range.error().message());
  request.range = *range;
  if (request.cell && key->kind != RecordKind::chunk) {
    return wrong_usage(streams, "history", key_text + " has no cells; chunks have");
  }

  const auto history = look_back(request.save);
  if (!history) return could_not(streams, history.error());
  const auto events = events_of(**history, request);
  if (!events) return could_not(streams, events.error().with_context(request.save));
  for (const Event& event : *events) {
    if (!streams.out.good()) break;
    print(event, json, streams.out);
  }
  return kDone;
}

}  // namespace varve::tool
