#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>

#include "tool/arguments.h"
#include "tool/records.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

Status write_file(const std::string& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return {};
  return io_error(fmt::format("could not write {}: {}", path, std::strerror(errno)));
}

}  // namespace

int run_get(Args args, Streams& streams) {
  std::string save, key_text;
  std::optional<std::string> output;
  Arguments arguments("get",
                      "Writes the payload of one record, decoded, to standard output and nothing "
                      "else. Exit 3 if there is no such record or it is damaged.",
                      "varve get my_world global:weather\n"
                      "varve get my_world chunk:the_nether/3,-2 -o chunk.bin");
  arguments.required("SAVE", save, "the save to read");
  arguments.required("KEY", key_text, "the record, such as chunk:3,-2");
  arguments.option("-o,--output", "FILE", output, "write to this file instead");
  if (const auto code = arguments.parse(args, streams)) return *code;
  const auto key = parse_record_key(key_text);
  if (!key) return wrong_usage(streams, "get", key.error().message());

  const auto store = look_at(save);
  if (!store) return could_not(streams, store.error());
  (void)say_damage(streams, save, (*store)->open_report());
  const auto record = read_record(**store, *key);
  if (!record) {
    return could_not(streams, save + ": " + problem_line(key_text, record.error()));
  }
  if (!*record) {
    return could_not(streams,
                     fmt::format("{} has no {}; `varve ls` lists what it has", save, key_text));
  }
  const std::string_view payload = (*record)->data.text();
  if (output) {
    const Status written = write_file(*output, payload);
    return written ? kDone : could_not(streams, written.error());
  }
  streams.out.write(payload.data(), static_cast<std::streamsize>(payload.size()));
  return kDone;
}

}  // namespace varve::tool
