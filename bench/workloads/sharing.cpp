// sharing: what it takes, and what it saves, to keep a payload that several chunks have once
// (VarveOptions::sharing_memory_size). Every second chunk has one of 100 payloads, as water, sky
// and floors do; the others have one of their own. Nothing compresses, so that sizes are those of
// the payloads.
//
//   raw      the varve store without sharing
//   shared   with memory for 50,000 chunks
#include <fmt/format.h>

#include <utility>

#include "base/byte_writer.h"
#include "base/try.h"
#include "harness/device_settler.h"
#include "harness/interleave.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "varve/varve_store.h"

namespace varve::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPaletteCount = 100;
constexpr std::size_t kChunksPerCommit = 250;
constexpr std::uint64_t kSharingMemory = 50'000 * 40;

struct Arm {
  std::string name;
  std::unique_ptr<const Format> format;
  std::string path = {};
  std::unique_ptr<Store> store = {};
  double written_size = 0;
};

class Landscape {
 public:
  Landscape() {
    for (std::size_t i = 0; i < kPaletteCount; ++i) palette_.push_back(fresh());
  }
  // The next chunks of the world.
  Commit next(std::size_t count) {
    Commit commit;
    for (std::size_t i = 0; i < count; ++i, ++chunk_count_) {
      const bool repeats = chunk_count_ % 2 == 0;
      commit.chunks.push_back(
          {pos_of(chunk_count_), repeats ? palette_[random_.below(kPaletteCount)] : fresh()});
    }
    return commit;
  }
  ChunkPos any() { return pos_of(random_.below(chunk_count_)); }
  std::size_t chunk_count() const { return chunk_count_; }

 private:
  static ChunkPos pos_of(std::size_t chunk) {
    return {static_cast<std::int32_t>(chunk % 100), static_cast<std::int32_t>(chunk / 100)};
  }
  Bytes fresh() {
    const std::size_t size = 6 * 1024 + random_.below(4 * 1024);
    ByteWriter out;
    while (out.size() < size) out.u64_le(random_.next());
    return out.take();
  }

  Random random_{kSeed};
  std::vector<Bytes> palette_;
  std::size_t chunk_count_ = 0;
};

std::vector<Series> series_of(const std::vector<Arm>& arms) {
  std::vector<Series> series;
  for (const Arm& arm : arms) series.push_back({.arm = arm.name, .samples = {}, .error = {}});
  return series;
}

Result<std::vector<Measurement>> run_sharing(const Context& context) {
  VARVE_ASSIGN(DeviceSettler settler, DeviceSettler::create(context.dir));
  std::vector<Arm> arms;
  arms.push_back({kRawArm, make_varve_format("varve", {})});
  arms.push_back({"shared", make_varve_format("varve", {.sharing_memory_size = kSharingMemory})});
  for (Arm& arm : arms) {
    arm.path = path_join(context.dir, "sharing " + arm.name);
    VARVE_ASSIGN(arm.store, arm.format->create(arm.path));
  }
  Landscape world;
  Commit commit;
  Progress progress;

  std::vector<Series> saving = series_of(arms);
  interleave(
      saving, context.rounds(80), [&] { commit = world.next(kChunksPerCommit); },
      [&](std::size_t index) -> Result<double> {
        Arm& arm = arms[index];
        commit.tick = arm.store->tick() + 1;
        VARVE_TRY(settler.settle(2ms, 1'000'000));
        const Stopwatch watch;
        VARVE_ASSIGN(const CommitStats stats, arm.store->commit(commit, progress));
        const double milliseconds = watch.milliseconds();
        arm.written_size += static_cast<double>(stats.written_size);
        return milliseconds;
      });
  const std::size_t chunk_count = world.chunk_count();

  std::vector<Series> reading = series_of(arms);
  std::vector<ChunkPos> positions;
  interleave(
      reading, context.rounds(60),
      [&] {
        positions.clear();
        for (std::size_t i = 0; i < 1000; ++i) positions.push_back(world.any());
      },
      [&](std::size_t index) -> Result<double> {
        std::uint64_t size = 0;
        const Stopwatch watch;
        for (const ChunkPos& pos : positions) {
          VARVE_ASSIGN(const auto payload, arms[index].store->read_chunk(pos));
          if (!payload) return corruption("a chunk that was saved is not there");
          size += payload->size();
        }
        return size == 0 ? 0 : static_cast<double>(positions.size()) / watch.milliseconds();
      });

  // What was saved without, made to share afterwards.
  std::vector<Series> sizes = series_of(arms);
  sizes[0].samples = {arms[0].written_size};
  sizes[1].samples = {arms[1].written_size};
  VARVE_TRY(arms[1].store->close());
  VARVE_TRY(arms[0].store->close());
  VARVE_ASSIGN(const auto store, arms[1].format->open(arms[0].path));
  const Stopwatch watch;
  VARVE_ASSIGN(const CompactReport compacted, store->compact(progress));
  const double seconds = watch.milliseconds() / 1e3;
  sizes.push_back(
      {.arm = "compacted", .samples = {static_cast<double>(compacted.size_after)}, .error = {}});
  VARVE_TRY(store->close());
  return std::vector<Measurement>{
      {.title = fmt::format("sharing: save of {} chunks, every second one of {} payloads",
                            kChunksPerCommit, kPaletteCount),
       .unit = "ms",
       .better = Better::smaller,
       .compared = true,
       .series = std::move(saving),
       .note = {}},
      {.title = fmt::format("sharing: warm random reads of {} chunks", chunk_count),
       .unit = "chunks/ms",
       .better = Better::bigger,
       .compared = true,
       .series = std::move(reading),
       .note = {}},
      {.title = fmt::format("sharing: bytes of {} chunks", chunk_count),
       .unit = "bytes",
       .better = Better::smaller,
       .compared = true,
       .series = std::move(sizes),
       .note = fmt::format("compacted: the save without sharing, behind a compact() with it that "
                           "took {:.2f} s\n",
                           seconds)}};
}

}  // namespace

void add_sharing_workloads(Workloads& workloads) {
  workloads.push_back({.name = "sharing",
                       .summary = "payloads that several chunks have, stored once and often",
                       .run = run_sharing});
}

}  // namespace varve::bench
