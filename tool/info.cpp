#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/records.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

struct KindSum {
  std::uint64_t count = 0;
  std::uint64_t size = 0;
};

struct SpaceSum {
  std::uint64_t chunk_count = 0;
  ChunkBox box = {};
};

// Positions with different numbers of coordinates have no box in common.
using SpaceKey = std::pair<Space, std::uint8_t>;

struct Sums {
  std::array<KindSum, kKindCount> kinds = {};
  std::map<SpaceKey, SpaceSum> spaces = {};

  void add(const RecordInfo& info) {
    KindSum& kind = kinds[static_cast<std::size_t>(info.key.kind)];
    ++kind.count;
    kind.size += info.size;
    if (info.key.kind == RecordKind::chunk) add(info.key.pos);
  }

  void add(const ChunkPos& pos) {
    SpaceSum& space = spaces[{pos.space, pos.coordinate_count}];
    if (++space.chunk_count == 1) space.box = {.min = pos, .max = pos};
    for (std::size_t axis = 0; axis < kCoordinateCountMax; ++axis) {
      space.box.min.coordinates[axis] = std::min(space.box.min[axis], pos[axis]);
      space.box.max.coordinates[axis] = std::max(space.box.max[axis], pos[axis]);
    }
  }
};

std::string coordinates_text(const ChunkPos& pos) {
  return to_string(pos.in(Space())).substr(std::string_view("chunk:").size());
}

// --- For a person --------------------------------------------------------------------

std::string coordinates_text(const Capabilities& can) {
  std::string text =
      can.coordinate_count_min == can.coordinate_count_max
          ? fmt::format("{}", can.coordinate_count_min)
          : fmt::format("{} to {}", can.coordinate_count_min, can.coordinate_count_max);
  for (std::size_t axis = 0; axis < can.coordinate_count_max; ++axis) {
    const CoordinateRange& range = can.coordinate_ranges[axis];
    if (range == CoordinateRange()) continue;
    text +=
        fmt::format("; the {} from {} to {}",
                    std::array{"first", "second", "third", "fourth"}[axis], range.min, range.max);
  }
  return text;
}

std::string_view yes_or_no(bool can) { return can ? "yes" : "no"; }

void print_format(const Capabilities& can, std::ostream& out) {
  const std::string entities =
      !can.entities ? "no"
                    : fmt::format("{}, {}", can.entity_schema,
                                  can.entities_without_owner ? "with or without an owner"
                                                             : "each with an owner");
  out << fmt::format("\nthe format {} carries\n", can.format);
  const auto line = [&](std::string_view what, std::string_view answer) {
    out << fmt::format("  {:<13}{}\n", what, answer);
  };
  line("coordinates", coordinates_text(can));
  line("spaces", yes_or_no(can.spaces));
  line("entities", entities);
  line("players", yes_or_no(can.players));
  line("globals", yes_or_no(can.globals));
  line("generator", yes_or_no(can.generator));
  line("backups", yes_or_no(can.backups));
  line("record size", fmt::format("up to {} bytes", can.payload_size_max));
}

void print_text(const std::string& save, const Store& store, const Sums& sums,
                const OpenReport& report, std::ostream& out) {
  const auto generator = store.generator();
  const auto line = [&](std::string_view what, const auto& answer) {
    out << fmt::format("{:<12}{}\n", what, answer);
  };
  line("save", save);
  line("format", store.capabilities().format);
  line("generation", store.generation());
  line("tick", store.tick());
  line("generator",
       generator ? fmt::format("{} version {}", generator->name, generator->version) : "none");

  out << fmt::format("\n{:<10}{:>12}{:>18}\n", "kind", "records", "payload bytes");
  for (const RecordKind kind : kKinds) {
    const KindSum& sum = sums.kinds[static_cast<std::size_t>(kind)];
    out << fmt::format("{:<10}{:>12}{:>18}\n", to_string(kind), sum.count, sum.size);
  }
  if (!sums.spaces.empty()) out << fmt::format("\n{:>12}  {}\n", "chunks", "from:to in space");
  for (const auto& [key, sum] : sums.spaces) {
    out << fmt::format("{:>12}  {}:{} in {}\n", sum.chunk_count, coordinates_text(sum.box.min),
                       coordinates_text(sum.box.max),
                       key.first == Space() ? "the default space" : key.first.name());
  }
  print_format(store.capabilities(), out);

  for (const std::string& note : crash_notes(report)) out << "\nnote: " << note << '\n';
  if (!report.problems.empty()) out << "\ndamage found on opening\n";
  for (const RecordProblem& problem : report.problems) {
    out << "  " << problem_line(problem.key, problem.error) << '\n';
  }
}

// --- For a program -------------------------------------------------------------------

Json coordinates_json(const ChunkPos& pos) {
  Json list = Json::array();
  for (std::size_t axis = 0; axis < pos.coordinate_count; ++axis) list.push_back(pos[axis]);
  return list;
}

Json format_json(const Capabilities& can) {
  Json ranges = Json::array();
  for (std::size_t axis = 0; axis < can.coordinate_count_max; ++axis) {
    const CoordinateRange& range = can.coordinate_ranges[axis];
    ranges.push_back({{"min", range.min}, {"max", range.max}});
  }
  return {{"durable", can.durable},
          {"coordinate_count_min", can.coordinate_count_min},
          {"coordinate_count_max", can.coordinate_count_max},
          {"coordinate_ranges", ranges},
          {"spaces", can.spaces},
          {"entities", can.entities},
          {"entities_without_owner", can.entities_without_owner},
          {"entity_schema", can.entity_schema},
          {"players", can.players},
          {"globals", can.globals},
          {"generator", can.generator},
          {"pins", can.pins},
          {"backups", can.backups},
          {"payload_size_max", can.payload_size_max}};
}

Json to_json(const std::string& save, const Store& store, const Sums& sums,
             const OpenReport& report) {
  Json json = {{"save", save},
               {"format", store.capabilities().format},
               {"generation", store.generation()},
               {"tick", store.tick()},
               {"generator", nullptr}};
  if (const auto generator = store.generator()) {
    json["generator"] = {{"name", generator->name}, {"version", generator->version}};
  }
  for (const RecordKind kind : kKinds) {
    const KindSum& sum = sums.kinds[static_cast<std::size_t>(kind)];
    json["records"][std::string(to_string(kind))] = {{"count", sum.count}, {"size", sum.size}};
  }
  json["spaces"] = Json::array();
  for (const auto& [key, sum] : sums.spaces) {
    json["spaces"].push_back({{"space", key.first.name()},
                              {"chunk_count", sum.chunk_count},
                              {"min", coordinates_json(sum.box.min)},
                              {"max", coordinates_json(sum.box.max)}});
  }
  json["can"] = format_json(store.capabilities());

  json["opening"] = {{"finished_commit", report.finished_commit},
                     {"dropped_tail", report.dropped_tail},
                     {"problems", Json::array()}};
  for (const RecordProblem& problem : report.problems) {
    json["opening"]["problems"].push_back({{"key", problem.key},
                                           {"code", to_string(problem.error.code())},
                                           {"message", problem.error.message()}});
  }
  return json;
}

}  // namespace

int run_info(Args args, Streams& streams) {
  std::string save;
  bool json = false;
  Arguments arguments(
      "info",
      "Says what a save holds: its format, generation, tick and generator, how many "
      "records of each kind, where its chunks lie, and what its format can carry. "
      "Exit 1 if opening it found damage.",
      "varve info my_world\nvarve info my_world --json");
  arguments.required("SAVE", save, "the save to look at");
  arguments.flag("--json", json, "print one JSON object");
  if (const auto code = arguments.parse(args, streams)) return *code;

  const auto store = look_at(save);
  if (!store) return could_not(streams, store.error());
  Sums sums;
  const auto listed = [&] {
    const Progress unknown;
    const ProgressBar bar(streams, "counting", unknown);
    return list_records(**store, {}, [&](const RecordInfo& info) { return sums.add(info), true; });
  }();
  if (!listed) return could_not(streams, listed.error().with_context(save));
  OpenReport report = (*store)->open_report();
  report.problems.insert(report.problems.end(), listed->begin(), listed->end());
  if (json) {
    streams.out
        << to_json(save, **store, sums, report).dump(2, ' ', false, Json::error_handler_t::replace)
        << '\n';
  } else {
    print_text(save, **store, sums, report, streams.out);
  }
  return report.problems.empty() ? kDone : kProblems;
}

}  // namespace varve::tool
