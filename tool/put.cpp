#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <ostream>

#include "tool/arguments.h"
#include "tool/progress_bar.h"
#include "tool/records.h"
#include "tool/saves.h"

namespace varve::tool {
namespace {

struct Request {
  std::string save;
  RecordKey key;
  std::optional<std::string> format;
  std::optional<std::string> owner;
  Bytes payload;
};

Result<Bytes> read_all(std::istream& in, std::string_view name) {
  // No format takes more. Without a bound, a pipe that never ends would take the machine down.
  constexpr std::size_t kSizeMax = std::size_t{1} << 32;
  Buffer buffer(std::size_t{64} << 10);
  std::size_t size = 0;
  errno = 0;
  while (in) {
    if (size == buffer.size()) buffer.resize(buffer.size() * 2);
    in.read(reinterpret_cast<char*>(buffer.data()) + size,
            static_cast<std::streamsize>(buffer.size() - size));
    size += static_cast<std::size_t>(in.gcount());
    if (size > kSizeMax) {
      return invalid_argument(fmt::format("{} is larger than {} bytes", name, kSizeMax));
    }
  }
  if (in.bad() || !in.eof()) {
    return io_error(fmt::format("could not read {}: {}", name,
                                errno != 0 ? std::strerror(errno) : "reading failed"));
  }
  buffer.resize(size);
  return std::move(buffer).freeze();
}

Result<Bytes> read_input(const std::string& file, Streams& streams) {
  if (file == "-") return read_all(streams.in, "standard input");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return io_error(fmt::format("could not read {}: {}", file, std::strerror(errno)));
  return read_all(in, file);
}

// The owner the entity is to have: the one that was asked for, or the one it has.
Result<std::optional<ChunkPos>> owner_of(const Store& store, const Request& request) {
  if (request.key.kind != RecordKind::entity) return std::optional<ChunkPos>();
  if (request.owner == "none") return std::optional<ChunkPos>();
  if (request.owner) {
    const auto pos = parse_position(*request.owner);
    if (!pos) return pos.error();
    return std::optional(*pos);
  }
  const auto before = read_record(store, request.key);
  if (!before) {
    return Error(before.error().code(),
                 before.error().message() + "; its owner cannot be read, so say it with --owner");
  }
  return *before ? (*before)->owner : std::nullopt;
}

Status commit_put(Store& store, const Request& request, Streams& streams) {
  if (!store.capabilities().durable) {
    return unsupported("a save of this format ends with the program that made it; choose another");
  }
  if (Status free = check_no_journal(store); !free) return free;
  if (Status kept = keep_aside_if_damaged(store, request.key); !kept) return kept;
  const auto owner = owner_of(store, request);
  if (!owner) return owner.error();
  Commit commit{.tick = store.tick()};
  add_change(commit, request.key, Record{.owner = *owner, .data = request.payload});
  Progress progress;
  const ProgressBar bar(streams, "writing", progress);
  const auto done = store.commit(commit, progress);
  return done ? Status() : Status(done.error());
}

Result<std::unique_ptr<Store>> open_existing(const Request& request, const Format& format) {
  if (request.format && *request.format != format.name()) {
    return invalid_argument(
        fmt::format("{} is in the format {}, not {}; leave out --format, or "
                    "`varve convert` it",
                    request.save, format.name(), *request.format));
  }
  return format.open(request.save);
}

int finish_put(Store& store, const Request& request, Streams& streams) {
  Status done = commit_put(store, request, streams);
  const Status closed = store.close();
  if (done) done = closed;
  return done ? kDone : could_not(streams, done.error().with_context(request.save));
}

int put(const Request& request, Streams& streams) {
  const auto there = detect_format(request.save);
  const bool is_absent = !there && there.error().code() == ErrorCode::not_found;
  if (!there && !is_absent) return could_not(streams, there.error());
  if (is_absent && !request.format) {
    return could_not(streams, fmt::format("{}; --format F makes one, where F is one of: {}",
                                          there.error().message(), format_names()));
  }
  const auto format = is_absent ? find_format(*request.format) : there;
  if (!format) return wrong_usage(streams, "put", format.error().message());
  if (names_other_format(request.save, (*format)->name())) {
    return wrong_usage(streams, "put",
                       fmt::format("{} names another format than {}; a path that begins with ./ "
                                   "names none",
                                   request.save, (*format)->name()));
  }
  if (!is_absent) {
    auto store = open_existing(request, **format);
    if (!store) return could_not(streams, store.error());
    const bool is_damaged = say_damage(streams, request.save, (*store)->open_report());
    const int code = finish_put(**store, request, streams);
    return code == kDone && is_damaged ? kProblems : code;
  }
  // Under another name until the record is in it: one that is refused leaves nothing behind.
  const std::string unfinished = request.save + ".unfinished-put";
  if (Status removed = (*format)->remove(unfinished); !removed) {
    return could_not(streams, removed.error());
  }
  auto store = (*format)->create(unfinished);
  if (!store) return could_not(streams, store.error());
  const int code = finish_put(**store, request, streams);
  store->reset();
  Status done;
  if (code == kDone) done = (*format)->rename(unfinished, request.save);
  if (code != kDone || !done) (void)(*format)->remove(unfinished);
  return done ? code : could_not(streams, done.error());
}

}  // namespace

int run_put(Args args, Streams& streams) {
  Request request;
  std::string key_text, file;
  Arguments arguments(
      "put",
      "Writes one record, durably, at the tick the save is at. The record is made or "
      "replaced. An entity keeps the owner it has unless --owner says otherwise.",
      "varve put my_world global:weather weather.txt\n"
      "echo rain | varve put my_world global:weather - --format nebula\n"
      "varve put my_world entity:17 cow.bin --owner 3,-2");
  arguments.required("SAVE", request.save, "the save to change");
  arguments.required("KEY", key_text, "the record, such as chunk:3,-2");
  arguments.required("FILE", file, "the file with its payload; - is standard input");
  arguments.option("--format", "F", request.format, "make a save of this format if there is none");
  arguments.option("--owner", "POS", request.owner,
                   "the chunk an entity stands in: 3,-2, the_nether/3,-2 or none");
  if (const auto code = arguments.parse(args, streams)) return *code;

  const auto key = parse_record_key(key_text);
  if (!key) return wrong_usage(streams, "put", key.error().message());
  request.key = *key;
  if (request.owner && key->kind != RecordKind::entity) {
    return wrong_usage(streams, "put",
                       fmt::format("{} is no entity, so it has no owner", key_text));
  }
  if (request.owner && *request.owner != "none") {
    const auto pos = parse_position(*request.owner);
    if (!pos) return wrong_usage(streams, "put", pos.error().with_context("--owner").message());
  }
  if (request.format) {
    const auto format = find_format(*request.format);
    if (!format) return wrong_usage(streams, "put", format.error().message());
  }
  // Before the save is opened, which keeps others out: a pipe may take its time.
  auto payload = read_input(file, streams);
  if (!payload) return could_not(streams, payload.error());
  request.payload = *std::move(payload);
  return put(request, streams);
}

}  // namespace varve::tool
