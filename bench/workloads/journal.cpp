// journal: what a world with a journal costs its game: handing over a tick of 1,000 mutations, and
// making a tick durable while nothing else happens and beside a save of 64 MB.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "varve/world.h"

namespace varve::bench {
namespace {

constexpr std::size_t kChunkSize = 8 << 10;

Bytes noise_of(std::uint32_t seed) {
  Buffer bytes(kChunkSize);
  std::uint64_t state = 0x9e37'79b9'7f4a'7c15 * (seed + 1);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    bytes.data()[i] = static_cast<std::byte>(state >> 24);
  }
  return std::move(bytes).freeze();
}

Result<std::unique_ptr<World>> open_world(const std::string& path, const Durability& sync_mode) {
  return World::create(path, {.autosave = AutosaveConfig{.enabled = false, .max_backups = 0},
                              .timed_saves = {.players_s = 0},
                              .journal = JournalConfig{.sync_mode = sync_mode}});
}

Bytes value_of(std::uint32_t value) {
  return Bytes::copy_of(ByteView(reinterpret_cast<const std::byte*>(&value), sizeof value));
}

// Edits of cells and moves of entities, half each.
Status mutate(World& world, int count, std::uint32_t value) {
  for (int i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      const auto offset = static_cast<std::uint32_t>(i * 4 % kChunkSize);
      VARVE_TRY(world.edit(ChunkPos(i % 64, 0), RawChunk::edit_of(offset, value_of(value))));
    } else {
      VARVE_TRY(world.put_entity({.id = static_cast<EntityId>(i),
                                  .owner = ChunkPos(i % 64, 0),
                                  .data = value_of(value + static_cast<std::uint32_t>(i))}));
    }
  }
  return {};
}

Result<std::vector<Measurement>> run_hand_over(const Context& context) {
  constexpr int kMutationCount = 1'000;
  const Rounds rounds = context.rounds(4'000);
  VARVE_ASSIGN(const auto world,
               open_world(path_join(context.dir, "hand_over"), JournalConfig{}.sync_mode));
  for (std::int32_t x = 0; x < 64; ++x) {
    VARVE_TRY(world->put(ChunkPos(x, 0),
                         std::make_unique<RawChunk>(noise_of(static_cast<std::uint32_t>(x)))));
  }
  world->tick();
  std::vector<Series> series = {{"tick of 1,000", {}, {}}, {"tick of 1,000, computed", {}, {}}};
  for (std::size_t round = 0; round < rounds.warm_up_count + rounds.count; ++round) {
    VARVE_TRY(mutate(*world, kMutationCount, static_cast<std::uint32_t>(round + 1)));
    const Stopwatch watch;
    const CpuStopwatch cpu_watch;
    world->tick();
    const double cpu_ms = cpu_watch.milliseconds();
    const double wall_ms = watch.milliseconds();
    if (round >= rounds.warm_up_count) {
      series[0].samples.push_back(wall_ms * 1e3);
      series[1].samples.push_back(cpu_ms * 1e3);
    }
    // As a game that ticks again when the last one is on its way.
    if (round % 8 == 0) VARVE_TRY(world->make_durable());
  }
  VARVE_TRY(world->close());
  return std::vector<Measurement>{
      {.title = "game thread, handing over a tick of 1,000 mutations (goal: <= 20 us p99)",
       .unit = "us",
       .series = std::move(series)}};
}

Result<std::vector<Measurement>> run_beside_save(const Context& context) {
  const std::int32_t chunk_count = context.quick ? 64 : (64 << 20) / static_cast<int>(kChunkSize);
  const std::size_t save_count = context.quick ? 1 : 6;
  VARVE_ASSIGN(const auto world, open_world(path_join(context.dir, "beside_save"),
                                            {.kind = Durability::Kind::every_commit}));
  std::uint32_t value = 0;
  // A tick of one edit of a kilobyte, until it is durable.
  const auto synced_tick = [&]() -> Result<double> {
    const Bytes bytes = noise_of(++value).slice(0, 1024);
    VARVE_TRY(world->edit(ChunkPos(-1, 0), RawChunk::edit_of(0, bytes)));
    const Stopwatch watch;
    world->tick();
    VARVE_TRY(world->make_durable());
    return watch.milliseconds();
  };
  VARVE_TRY(world->put(ChunkPos(-1, 0), std::make_unique<RawChunk>(noise_of(0))));
  std::vector<Series> series = {{"log sync, idle", {}, {}}, {"log sync, 64 MB save", {}, {}}};
  for (std::size_t save = 0; save < save_count; ++save) {
    for (std::int32_t x = 0; x < chunk_count; ++x) {
      VARVE_TRY(world->put(ChunkPos(x, 0), std::make_unique<RawChunk>(noise_of(++value))));
    }
    world->tick();
    VARVE_TRY(world->make_durable());
    for (int i = 0; i < (context.quick ? 3 : 200); ++i) {
      VARVE_ASSIGN(const double idle_ms, synced_tick());
      series[0].samples.push_back(idle_ms);
    }
    SaveHandle handle = world->save();
    while (!handle.is_done()) {
      VARVE_ASSIGN(const double beside_ms, synced_tick());
      if (!handle.is_done()) series[1].samples.push_back(beside_ms);
    }
    VARVE_TRY(handle.wait());
    world->update(0);
  }
  VARVE_TRY(world->close());
  if (series[1].samples.empty()) series[1].samples.push_back(series[0].samples.front());
  return std::vector<Measurement>{
      {.title = "making a tick of 1 KB durable (goal: beside a save of 64 MB <= 1.3 of idle, p50)",
       .unit = "ms",
       .series = std::move(series)}};
}

}  // namespace

void add_journal_workloads(Workloads& workloads) {
  workloads.push_back({.name = "hand_over",
                       .summary = "game-thread cost of ending a tick of 1,000 mutations",
                       .run = run_hand_over});
  workloads.push_back({.name = "beside_save",
                       .summary = "log syncs of a world with a journal while it saves 64 MB",
                       .run = run_beside_save});
}

}  // namespace varve::bench
