#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/saves.h"
#include "varve/varve_store.h"

namespace varve::tool {
namespace {

using Json = nlohmann::ordered_json;

std::optional<SpeedClass> speed_named(std::string_view name) {
  if (name == "raw") return SpeedClass::raw;
  if (name == "fast") return SpeedClass::fast;
  if (name == "balanced") return SpeedClass::balanced;
  if (name == "small") return SpeedClass::small;
  return std::nullopt;
}

// What only saves of the varve format know.
struct Choices {
  std::optional<SpeedClass> speed;
  std::size_t cell_size = 0;
  bool shares = false;
};

// Room to remember every chunk, with as much again, since a place may be taken.
Result<std::uint64_t> sharing_memory_for(const std::string& save) {
  constexpr std::uint64_t kSizePerChunk = 2 * 40;
  std::uint64_t chunk_count = 0;
  const auto store = open_store_to_read(save);
  if (!store) return store.error();
  const Status listed = (*store)->list_chunks({}, [&](const ChunkInfo&) {
    ++chunk_count;
    return true;
  });
  // Damage is for the compacting itself to meet: here it is a chunk less to remember.
  if (!listed && listed.error().code() != ErrorCode::corruption) return listed.error();
  const Status closed = (*store)->close();
  if (!closed) return closed.error();
  return (chunk_count + 1) * kSizePerChunk;
}

Result<std::unique_ptr<Store>> open_with(const std::string& save, const Choices& choices) {
  if (!choices.speed && !choices.shares) return open_store(save);
  const auto format = detect_format(save);
  if (!format) return format.error();
  if (!(*format)->name().starts_with("varve")) {
    return unsupported(fmt::format("{} is in the format {}; {} is for saves of the format varve",
                                   save, (*format)->name(), choices.speed ? "--speed" : "--share"));
  }
  VarveOptions options{.cell_size = choices.cell_size};
  if (choices.speed) options.speed = *choices.speed;
  if (choices.shares) {
    const auto memory_size = sharing_memory_for(save);
    if (!memory_size) return memory_size.error();
    options.sharing_memory_size = *memory_size;
  }
  return make_varve_format("varve", options)->open(save);
}

}  // namespace

int run_compact(Args args, Streams& streams) {
  std::string save;
  std::optional<std::string> speed_name;
  std::optional<std::string> cell_text;
  Choices choices;
  bool json = false;
  Arguments arguments(
      "compact",
      "Makes a save smaller without changing what it holds. With --speed, records of a varve save "
      "are written anew as that class would where they become smaller; balanced and small also "
      "learn a dictionary from the chunks. With --share, what several of its chunks have is stored "
      "once; an older Varve does not open the save then.",
      "varve compact my_world\nvarve compact my_world --speed small\nvarve compact my_world "
      "--share");
  arguments.required("SAVE", save, "the save to make smaller");
  arguments.option("--speed", "CLASS", speed_name, "raw, fast, balanced or small");
  arguments.option("--cell-size", "BYTES", cell_text,
                   "bytes of a cell, where chunks are arrays of cells; with --speed");
  arguments.flag("--share", choices.shares, "store a payload that several chunks have once");
  arguments.flag("--json", json, "print one JSON object");
  if (const auto code = arguments.parse(args, streams)) return *code;
  choices.speed = speed_name ? speed_named(*speed_name) : std::nullopt;
  if (speed_name && !choices.speed) {
    return wrong_usage(
        streams, "compact",
        fmt::format("there is no speed '{}'; there are raw, fast, balanced, small", *speed_name));
  }
  if (cell_text) {
    const char* end = cell_text->data() + cell_text->size();
    const auto parsed = std::from_chars(cell_text->data(), end, choices.cell_size);
    if (parsed.ec != std::errc() || parsed.ptr != end || choices.cell_size > 255 ||
        !choices.speed) {
      return wrong_usage(streams, "compact", "--cell-size is a number up to 255, beside --speed");
    }
  }

  const auto store = open_with(save, choices);
  if (!store) return could_not(streams, store.error());
  const bool is_damaged = say_damage(streams, save, (*store)->open_report());
  Progress progress;
  Result<CompactReport> report = CompactReport{};
  {
    const ProgressBar bar(streams, "compacting", progress);
    report = (*store)->compact(progress);
  }
  const Status closed = (*store)->close();
  if (!report) return could_not(streams, report.error());
  if (!closed) return could_not(streams, closed.error());
  if (json) {
    streams.out << Json{{"save", save},
                        {"size_before", report->size_before},
                        {"size_after", report->size_after}}
                       .dump(2)
                << '\n';
  } else {
    streams.out << fmt::format("{} bytes, {} before\n", report->size_after, report->size_before);
  }
  return is_damaged ? kProblems : kDone;
}

}  // namespace varve::tool
