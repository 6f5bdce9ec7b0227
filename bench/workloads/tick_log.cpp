// tick_log: a durable tick of 1 KB that nothing compresses, against one append and fdatasync and
// against engines that are as durable; and a tick nobody waits for, against a bare write().
#include <fmt/format.h>

#include <array>

#include "base/endian.h"
#include "base/try.h"
#include "harness/device_settler.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "io/vfs.h"
#include "journal/tick_log.h"
#include "kv_arm.h"

namespace varve::bench {
namespace {

using namespace std::chrono_literals;
using journal::TickLog;
using journal::TickLogOptions;

constexpr std::size_t kPayloadSize = 1024;
// Ticks of a sample: one alone is too short for the clock of a shared machine.
constexpr std::size_t kSyncedCount = 10;
constexpr std::size_t kUnsyncedCount = 1'000;

Bytes random_payload(Random& random) {
  Buffer payload(kPayloadSize);
  for (std::size_t i = 0; i < kPayloadSize; i += 8) {
    store_le<std::uint64_t>(payload.data() + i, random.next());
  }
  return std::move(payload).freeze();
}

// The log as an arm: a key is a tick, big-endian as the other engines want them.
class TickLogArm final : public KvArm {
 public:
  Status open(const std::string& dir) override {
    TickLogOptions options;
    options.durability.kind = Durability::Kind::every_commit;
    VARVE_ASSIGN(log_, TickLog::open(posix_vfs(), path_join(dir, "log"), options));
    return {};
  }
  Status put_batch(std::span<const KvPair> pairs) override {
    for (const KvPair& pair : pairs) {
      VARVE_TRY(log_->append(load_be<std::uint64_t>(pair.key.data()), pair.value));
    }
    return {};
  }
  Status get(ByteView key, Consumer& consume) override {
    const auto tick = load_be<std::uint64_t>(key.data());
    bool is_there = false;
    VARVE_TRY(log_->read(tick, tick + 1, [&](std::uint64_t, const Bytes& payload) -> Result<bool> {
      is_there = true;
      consume(payload);
      return true;
    }));
    if (!is_there) return not_found(fmt::format("tick {}", tick));
    return {};
  }
  Status close() override { return log_->close(); }

 private:
  std::unique_ptr<TickLog> log_;
};

struct Tick {
  std::array<std::byte, 8> key;
  Bytes payload;
};

std::vector<Tick> make_ticks(Random& random, std::uint64_t& last, std::size_t count) {
  std::vector<Tick> ticks(count);
  for (Tick& tick : ticks) {
    store_be<std::uint64_t>(tick.key.data(), ++last);
    tick.payload = random_payload(random);
  }
  return ticks;
}

Result<std::vector<Measurement>> run_synced(const Context& context) {
  VARVE_ASSIGN(DeviceSettler settler, DeviceSettler::create(context.dir));
  std::vector<std::unique_ptr<KvArm>> arms;
  std::vector<std::string> dirs;
  std::vector<Series> series;
  const auto add = [&](const std::string& name, std::unique_ptr<KvArm> arm) {
    dirs.push_back(path_join(context.dir, name));
    series.push_back({.arm = name, .samples = {}, .error = {}});
    const Status opened =
        posix_vfs().create_dir(dirs.back()) ? arm->open(dirs.back()) : io_error("no folder");
    if (!opened) series.back().error = opened.error().message();
    arms.push_back(std::move(arm));
  };
  for (const KvArmKind& kind : kv_arm_kinds()) {
    if (kind.name != "file-per-chunk") add(kind.name, kind.make());
  }
  add("tick_log", std::make_unique<TickLogArm>());
  Random random(kSeed);
  std::uint64_t last = 0;
  std::vector<Tick> ticks;
  std::vector<Tick> all;
  interleave(
      series, context.rounds(200),
      [&] {
        ticks = make_ticks(random, last, kSyncedCount);
        all.insert(all.end(), ticks.begin(), ticks.end());
      },
      [&](std::size_t arm_index) -> Result<double> {
        VARVE_TRY(settler.settle(2ms, 1'000'000));
        const Stopwatch watch;
        for (const Tick& tick : ticks) {
          const KvPair pair{tick.key, tick.payload};
          VARVE_TRY(arms[arm_index]->put_batch({&pair, 1}));
        }
        return watch.milliseconds() / kSyncedCount;
      });
  // An arm that lost or changed a tick has failed, however fast it was.
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (series[i].failed()) continue;
    const auto verify = [&]() -> Status {
      VARVE_TRY(arms[i]->close());
      VARVE_TRY(arms[i]->open(dirs[i]));
      for (const Tick& tick : all) {
        Consumer consumer;
        VARVE_TRY(arms[i]->get(tick.key, consumer));
        if (consumer.hash() != xxh3(tick.payload)) return corruption("a tick has other bytes");
      }
      return arms[i]->close();
    };
    if (const Status verified = verify(); !verified) series[i].error = verified.error().message();
  }
  return std::vector<Measurement>{
      {.title = "durable append of a tick of 1 KB", .unit = "ms", .series = std::move(series)}};
}

// A file that nothing but write() knows. It is begun anew, or gone over again, every 64 MiB, as a
// log begins a segment.
class BareFile {
 public:
  static constexpr std::uint64_t kSizeMax = 64 << 20;

  BareFile(const std::string& dir, std::string_view name, bool overwrites)
      : path_(path_join(dir, name)), overwrites_(overwrites) {}

  // Not part of what is timed, as segments are not begun in the middle of an append, either.
  Status make_room() {
    if (file_ != nullptr && offset_ < kSizeMax) return {};
    offset_ = 0;
    if (file_ != nullptr && overwrites_) return {};
    file_.reset();
    (void)posix_vfs().remove(path_);
    VARVE_ASSIGN(file_, posix_vfs().open(path_, OpenMode::create_new));
    return {};
  }
  Status append(ByteView payload) {
    VARVE_TRY(file_->write_at(offset_, payload));
    offset_ += payload.size();
    return {};
  }

 private:
  std::string path_;
  bool overwrites_;
  std::unique_ptr<File> file_;
  std::uint64_t offset_ = 0;
};

// Only what append() itself takes. Raw grows as a log does; `overwrite` stays in pages the system
// has in memory and has not written, which costs it least of all.
Result<std::vector<Measurement>> run_unsynced(const Context& context) {
  TickLogOptions options;
  options.durability.kind = Durability::Kind::none;
  VARVE_ASSIGN(const auto log, TickLog::open(posix_vfs(), path_join(context.dir, "log"), options));
  BareFile grown(context.dir, "grown", false);
  BareFile overwritten(context.dir, "overwritten", true);
  Random random(kSeed);
  std::uint64_t last = 0;
  std::vector<Tick> ticks;
  std::vector<Series> series = {{.arm = kRawArm, .samples = {}, .error = {}},
                                {.arm = "overwrite", .samples = {}, .error = {}},
                                {.arm = "tick_log", .samples = {}, .error = {}}};
  const auto append_all = [&](auto append) -> Result<double> {
    const CpuStopwatch watch;
    for (const Tick& tick : ticks) VARVE_TRY(append(tick));
    return watch.milliseconds() * 1e3 / static_cast<double>(ticks.size());
  };
  interleave(
      series, context.rounds(300),
      [&] { ticks = make_ticks(random, last, context.quick ? 10 : kUnsyncedCount); },
      [&](std::size_t arm_index) -> Result<double> {
        if (arm_index < 2) {
          BareFile& bare = arm_index == 0 ? grown : overwritten;
          VARVE_TRY(bare.make_room());
          return append_all([&](const Tick& tick) { return bare.append(tick.payload); });
        }
        VARVE_ASSIGN(const double time, append_all([&](const Tick& tick) {
                       return log->append(load_be<std::uint64_t>(tick.key.data()), tick.payload);
                     }));
        VARVE_TRY(log->truncate_before(last));
        return time;
      });
  VARVE_TRY(log->close());
  return std::vector<Measurement>{{.title = "append of a tick of 1 KB nobody waits for, CPU",
                                   .unit = "us",
                                   .series = std::move(series)}};
}

}  // namespace

void add_tick_log_workloads(Workloads& workloads) {
  workloads.push_back(
      {.name = "tick_log", .summary = "durable append of a tick of 1 KB", .run = run_synced});
  workloads.push_back({.name = "tick_log_unsynced",
                       .summary = "append of a tick of 1 KB nobody waits for, against write()",
                       .run = run_unsynced});
}

}  // namespace varve::bench
