#include "tool/saves.h"

#include <fmt/format.h>

namespace varve::tool {

Result<std::unique_ptr<Store>> look_at(std::string_view path) {
  auto store = open_store_to_read(path);
  if (!store && store.error().code() == ErrorCode::not_found) {
    return not_found(store.error().message() + "; check the path");
  }
  return store;
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
  return error.message().starts_with(begin) ? error.message() : begin + error.message();
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

}  // namespace varve::tool
