#include "kv_child.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "harness/workload.h"
#include "kv_arm.h"
#include "kv_data.h"
#include "varve/backend.h"

namespace varve::bench {
namespace {

// First arguments nobody would type.
constexpr const char* kWriterRole = "--as-writer";
constexpr const char* kReaderRole = "--as-reader";

constexpr std::size_t kBatchSize = 5;
// Few enough that later batches overwrite what earlier ones wrote.
constexpr std::size_t kRecordCount = 1'000;
constexpr std::uint32_t kSpace = 1;

constexpr char kDone = '.';
constexpr char kPin = 'p';
constexpr char kRelease = 'r';

Status say(char word) {
  if (::write(STDOUT_FILENO, &word, 1) != 1) return io_error("nobody listens any more");
  return {};
}

// Ends by being killed, or when nobody listens any more.
Status write_for_ever(std::string_view arm_name, const std::string& dir) {
  const std::vector<KvArmKind> kinds = kv_arm_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const KvArmKind& each) { return each.name == arm_name; });
  if (kind == kinds.end()) return invalid_argument(fmt::format("no arm '{}'", arm_name));
  const std::unique_ptr<KvArm> arm = kind->make();
  VARVE_TRY(arm->open(dir));
  KvData data(kSeed + 3, kRecordCount, kSpace);
  for (;;) {
    VARVE_TRY(arm->put_batch(data.overwrite(kBatchSize)));
    VARVE_TRY(say(kDone));
  }
}

Status read_on_order(const std::string& dir) {
  std::unique_ptr<Backend> backend;
  for (char word = 0; ::read(STDIN_FILENO, &word, 1) == 1;) {
    if (word == kPin) {
      VARVE_ASSIGN(backend, open_file_backend_to_read(dir));
    } else {
      VARVE_ASSIGN(const std::vector<Error> problems, backend->verify());
      if (!problems.empty()) return problems.front();
      VARVE_TRY(backend->close());
      backend.reset();
    }
    VARVE_TRY(say(kDone));
  }
  return {};
}

}  // namespace

Status write_and_kill(const std::string& arm_name, const std::string& dir,
                      std::size_t batch_count) {
  VARVE_ASSIGN(ChildProcess writer, ChildProcess::start({kWriterRole, arm_name, dir}));
  for (std::size_t i = 0; i < batch_count; ++i) VARVE_TRY(writer.receive());
  writer.kill();
  return {};
}

Result<ForeignReader> ForeignReader::start(const std::string& dir) {
  VARVE_ASSIGN(ChildProcess process, ChildProcess::start({kReaderRole, dir}));
  return ForeignReader(std::move(process));
}

Status ForeignReader::order(char word) {
  VARVE_TRY(process_.send(word));
  VARVE_TRY(process_.receive());
  return {};
}

Status ForeignReader::pin() { return order(kPin); }
Status ForeignReader::release() { return order(kRelease); }

std::optional<int> run_as_child(std::span<const char* const> arguments) {
  Status done;
  if (arguments.size() == 3 && arguments[0] == std::string_view(kWriterRole)) {
    done = write_for_ever(arguments[1], arguments[2]);
  } else if (arguments.size() == 2 && arguments[0] == std::string_view(kReaderRole)) {
    done = read_on_order(arguments[1]);
  } else {
    return std::nullopt;
  }
  if (done) return 0;
  fmt::print(stderr, "varve_bench {}: {}\n", arguments[0], done.error().message());
  return 1;
}

}  // namespace varve::bench
