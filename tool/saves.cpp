#include "tool/saves.h"

#include <fmt/format.h>

#include "varve/journal.h"

namespace varve::tool {

Result<std::unique_ptr<Store>> look_at(std::string_view path) {
  auto store = open_store_to_read(path);
  if (!store && store.error().code() == ErrorCode::not_found) {
    return not_found(store.error().message() + "; check the path");
  }
  return store;
}

Status check_no_journal(const Store& store) {
  if (!store.capabilities().globals) return {};
  const auto link = store.read_global(kJournalGlobal);
  if (!link) return link.error();
  if (!*link) return {};
  return invalid_argument(
      "this save has a journal, which would not know of the change; make it in the game, or "
      "`varve rollback` to what was before");
}

bool say_damage(Streams& streams, std::string_view save, const OpenReport& report) {
  for (const RecordProblem& problem : report.problems) {
    say(streams, std::string(save) + ": " + problem_line(problem.key, problem.error));
  }
  return !report.problems.empty();
}

bool names_other_format(std::string_view path, std::string_view format) {
  const std::string_view scheme = path.substr(0, path.find(':'));
  if (scheme.size() == path.size() || scheme == format) return false;
  return find_format(scheme).has_value();
}

std::vector<std::string> crash_notes(const OpenReport& report) {
  std::vector<std::string> notes;
  if (report.finished_commit) {
    notes.emplace_back("the last writer died during a commit that counts; it is shown as done");
  }
  if (report.dropped_tail) {
    notes.emplace_back("the last writer died during a commit that does not count; it is left out");
  }
  return notes;
}

std::string format_names() {
  std::string names;
  for (const Format* format : formats()) {
    names += (names.empty() ? "" : ", ") + std::string(format->name());
  }
  return names;
}

std::string problem_line(std::string_view key, const Error& error) {
  const std::string begin = std::string(key) + ": ";
  std::string line = error.message().starts_with(begin) ? error.message() : begin + error.message();
  // Names of files may hold anything, and a line must stay one.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return line;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

Result<ChunkPos> parse_position(std::string_view text) {
  const std::string_view prefix = text.starts_with("chunk:") ? "" : "chunk:";
  auto key = parse_record_key(std::string(prefix) + std::string(text));
  if (!key) return key.error();
  return key->pos;
}

Result<ChunkBox> parse_box(const std::string& text, Space space) {
  const std::size_t colon = text.find(':');
  const auto min = parse_position(text.substr(0, colon));
  const auto max = parse_position(colon == std::string::npos ? "" : text.substr(colon + 1));
  if (!min || !max || min->coordinate_count != max->coordinate_count || min->space != Space() ||
      max->space != Space()) {
    return invalid_argument(fmt::format(
        "'{}' is no box: expected two corners with a colon between them, such as 0,0:15,15", text));
  }
  return ChunkBox{.min = min->in(space), .max = max->in(space)};
}

Status parse_place(const std::optional<std::string>& space, const std::optional<std::string>& box,
                   std::optional<ChunkBox>& place) {
  if (space && !box) return invalid_argument("--space says where --box is, and there is none");
  if (!box) return {};
  Space in;
  if (space && !space->empty()) {
    const auto named = Space::named(*space);
    if (!named) return named.error();
    in = *named;
  }
  const auto parsed = parse_box(*box, in);
  if (!parsed) return parsed.error();
  place = *parsed;
  return {};
}

}  // namespace varve::tool
