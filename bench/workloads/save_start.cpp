// save_start: what starting a save of 10,000 dirty chunks of 64 KiB costs the game
// thread, beside what the same save costs a game that waits for it. Raw is the least such a
// wait can be: the same bytes written to one file and synced once.
#include "base/try.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "io/vfs.h"
#include "world_data.h"

namespace varve::bench {
namespace {

constexpr std::size_t kRawPieceSize = 1 << 20;

Result<double> write_raw(const std::string& path, std::size_t size) {
  const Buffer piece(kRawPieceSize);
  const Stopwatch watch;
  VARVE_ASSIGN(const std::unique_ptr<File> file, posix_vfs().open(path, OpenMode::replace));
  for (std::size_t written = 0; written < size; written += piece.size())
    VARVE_TRY(file->append(piece.view()));
  VARVE_TRY(file->sync_data());
  const double milliseconds = watch.milliseconds();
  VARVE_TRY(file->close());
  return milliseconds;
}

Status dirty_all(World& world, std::int32_t chunk_count, std::uint32_t value) {
  for (std::int32_t x = 0; x < chunk_count; ++x) VARVE_TRY(edit_chunk(world, x, 0, value));
  return {};
}

Result<double> waited_save(World& world) {
  const Stopwatch watch;
  VARVE_TRY(world.save().wait());
  return watch.milliseconds();
}

Result<std::vector<Measurement>> run_save_start(const Context& context) {
  const std::int32_t chunk_count = context.quick ? 50 : 10'000;
  const Rounds rounds = context.rounds(150);
  // Waiting takes seconds, so it is measured less often.
  constexpr std::size_t kRoundsPerWait = 15;
  VARVE_ASSIGN(const auto starting, make_world(WorldStore::memory, context.dir, chunk_count));
  VARVE_ASSIGN(const auto waiting, make_world(WorldStore::one_file, context.dir, chunk_count));
  std::vector<Series> series = {{kRawArm, {}, {}},
                                {"waited, disk", {}, {}},
                                {"waited, memory", {}, {}},
                                {"started", {}, {}},
                                {"started, computed", {}, {}}};
  for (std::size_t round = 0; round < rounds.warm_up_count + rounds.count; ++round) {
    const bool kept = round >= rounds.warm_up_count;
    const auto keep = [&](std::size_t arm, double sample) {
      if (kept) series[arm].samples.push_back(sample);
    };
    const auto value = static_cast<std::uint32_t>(round + 1);
    VARVE_TRY(dirty_all(*starting, chunk_count, value));
    const Stopwatch watch;
    const CpuStopwatch cpu_watch;
    SaveHandle save = starting->save();
    keep(4, cpu_watch.milliseconds());
    keep(3, watch.milliseconds());
    VARVE_TRY(save.wait());
    keep(2, watch.milliseconds());
    if (round % kRoundsPerWait != rounds.warm_up_count % kRoundsPerWait) continue;
    VARVE_TRY(dirty_all(*waiting, chunk_count, value));
    VARVE_ASSIGN(const double waited_ms, waited_save(*waiting));
    keep(1, waited_ms);
    VARVE_ASSIGN(const double raw_ms,
                 write_raw(path_join(context.dir, "raw"),
                           static_cast<std::size_t>(chunk_count) * kWorldChunkSize));
    keep(0, raw_ms);
  }
  VARVE_TRY(starting->close());
  VARVE_TRY(waiting->close());
  return std::vector<Measurement>{
      {.title = "game thread, save of 10,000 dirty chunks of 64 KiB (goal: started <= 1 ms p99, "
                "<= 0.001 of raw)",
       .unit = "ms",
       .series = std::move(series)}};
}

}  // namespace

void add_save_start_workloads(Workloads& workloads) {
  workloads.push_back({.name = "save_start",
                       .summary = "game-thread cost of starting a save of 10,000 dirty chunks",
                       .run = run_save_start});
}

}  // namespace varve::bench
