// backup: hot backups of a large world while a loop at 60 Hz edits and saves it, each to a place of
// its own and each behind some time without, and then one of what changed since. What counts is the
// longest frame, with and without, and how much the last one moves. Whatever else the machine does
// meets both: an interruption by the host of a virtual machine every minute or so.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "base/endian.h"
#include "base/try.h"
#include "harness/thread_stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "varve/format.h"
#include "world_data.h"

namespace varve::bench {
namespace {

constexpr std::int32_t kEditedCount = 20;
constexpr int kEditsPerFrame = 2'000;
constexpr std::int32_t kChunksPerCommit = 256;

Bytes noise(std::uint64_t number) {
  std::mt19937_64 random(kSeed + number);
  Buffer payload(kWorldChunkSize);
  for (std::size_t i = 0; i < payload.size(); i += 8)
    store_le<std::uint64_t>(payload.data() + i, random());
  return std::move(payload).freeze();
}

Result<std::unique_ptr<World>> make_large_world(const std::string& path, std::int32_t chunk_count) {
  VARVE_ASSIGN(const Format* format, find_format("varve"));
  VARVE_ASSIGN(std::unique_ptr<Store> store, format->create(path));
  Progress progress;
  for (std::int32_t x = 0; x < chunk_count;) {
    Commit commit{.tick = store->tick() + 1};
    for (std::int32_t i = 0; i < kChunksPerCommit && x < chunk_count; ++i, ++x)
      commit.chunks.push_back({ChunkPos(x, 0), noise(static_cast<std::uint64_t>(x))});
    VARVE_TRY(store->commit(commit, progress));
  }
  VARVE_ASSIGN(std::unique_ptr<World> world,
               World::on(std::move(store),
                         {.chunk_type = raw_chunks(kWorldChunkSize),
                          .autosave = AutosaveConfig{.enabled = false, .max_backups = 0}}));
  for (std::int32_t x = 0; x < kEditedCount; ++x) VARVE_TRY(world->load_now({x, 0}));
  return world;
}

struct Frames {
  explicit Frames(std::string name) : wall{name, {}, {}}, own{name, {}, {}}, cpu{name, {}, {}} {}

  Series wall;
  Series own;
  Series cpu;
};

// Frames until `is_over` says so, saving all the time. Sleeping is not part of a frame.
template <class IsOver>
Status play(World& world, bool paced, std::mt19937& random, Frames& frames, const IsOver& is_over) {
  auto next = std::chrono::steady_clock::now();
  for (std::uint32_t value = random(); !is_over(frames.wall.samples.size());) {
    const ThreadStopwatch watch;
    world.update(1.0 / 60);
    for (int edit = 0; edit < kEditsPerFrame; ++edit) {
      const auto chunk = static_cast<std::int32_t>(random() % kEditedCount);
      VARVE_TRY(edit_chunk(world, chunk, random() % (kWorldChunkSize - 4), ++value));
    }
    world.tick();
    if (!world.is_saving()) world.save();
    const ThreadTimes times = watch.times();
    frames.wall.samples.push_back(times.wall_ms);
    frames.own.samples.push_back(times.own_ms());
    frames.cpu.samples.push_back(times.computed_ms);
    next += std::chrono::microseconds(16'667);
    if (paced) std::this_thread::sleep_until(next);
  }
  return {};
}

Result<std::vector<Measurement>> run_backup(const Context& context) {
  const std::int32_t chunk_count = context.quick ? 256 : 16 << 10;
  const std::size_t frame_count = context.quick ? 5 : 900;
  const int round_count = context.quick ? 1 : 3;
  VARVE_ASSIGN(const auto world, make_large_world(path_join(context.dir, "world"), chunk_count));
  std::mt19937 random(static_cast<std::uint32_t>(kSeed));
  Frames without("saving");
  Frames with("saving, backup");
  Frames later("saving, next backup");
  std::string note;
  const auto play_during_backup = [&](int number, Frames& frames) -> Status {
    const Stopwatch watch;
    SaveHandle backup = world->back_up(path_join(context.dir, fmt::format("backup {}", number)));
    VARVE_TRY(play(*world, !context.quick, random, frames,
                   [&](std::size_t) { return backup.is_done(); }));
    VARVE_ASSIGN(const SaveReport report, backup.wait());
    note += fmt::format("{}: {:.1f} MB of {:.1f} MB moved in {:.2f} s\n", frames.wall.arm,
                        static_cast<double>(report.written_size) / 1e6,
                        static_cast<double>(chunk_count) * kWorldChunkSize / 1e6,
                        watch.milliseconds() / 1e3);
    return {};
  };
  for (int round = 0; round < round_count; ++round) {
    const std::size_t until_count = without.wall.samples.size() + frame_count;
    VARVE_TRY(play(*world, !context.quick, random, without,
                   [&](std::size_t count) { return count >= until_count; }));
    VARVE_TRY(play_during_backup(round, with));
  }
  VARVE_TRY(play_during_backup(round_count - 1, later));
  VARVE_TRY(world->close());
  for (const Frames* frames : {&without, &with, &later}) {
    const std::vector<double>& walls = frames->wall.samples;
    note += fmt::format("{}: {} of {} frames above 1 ms\n", frames->wall.arm,
                        std::count_if(walls.begin(), walls.end(), [](double ms) { return ms > 1; }),
                        walls.size());
  }
  return std::vector<Measurement>{
      {.title =
           fmt::format("frames at 60 Hz while {} chunks of 64 KiB are backed up (goal: max with "
                       "<= max without + 1 ms; the next one moves what changed)",
                       chunk_count),
       .unit = "ms",
       .series = {without.wall, with.wall, later.wall},
       .note = std::move(note)},
      {.title = "the same frames without what the host of a virtual machine took of them",
       .unit = "ms",
       .series = {without.own, with.own, later.own},
       .note = {}},
      {.title = "the same frames, time the game thread computed",
       .unit = "ms",
       .series = {without.cpu, with.cpu, later.cpu},
       .note = {}}};
}

}  // namespace

void add_backup_workloads(Workloads& workloads) {
  workloads.push_back({.name = "backup",
                       .summary = "a hot backup of 1 GB during a 60 Hz loop of edits and saves",
                       .run = run_backup});
}

}  // namespace varve::bench
