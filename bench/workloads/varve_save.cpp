// varve_save: what the varve store and the runtime add to the engine they stand on. A save of 5 of
// 10,000 chunks of 6 to 10 KB that nothing compresses, until it is *stored*:
//
//   raw          one append of the same bytes and one fdatasync
//   engine       the file backend: a batch of 5 values
//   store        the varve store on it, compressing nothing: a commit of 5 chunks
//   world        a world on that, with 5 dirty chunks: save_now()
//   world, wait  the same by save() and a wait for its handle
//   store, fast  store and world with the default options, which look for something to compress
//   world, fast
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
#include "io/vfs.h"
#include "varve/backend.h"
#include "varve/varve_store.h"
#include "varve/world.h"

namespace varve::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDirtyCount = 5;
constexpr std::string_view kFastSuffix = ", fast";
constexpr std::string_view kWaitSuffix = ", wait";

struct Edit {
  ChunkPos pos;
  Bytes payload;
};

ChunkPos pos_of(std::size_t chunk) {
  return {static_cast<std::int32_t>(chunk % 100), static_cast<std::int32_t>(chunk / 100)};
}

Bytes payload_from(Random& random) {
  const std::size_t size = 6 * 1024 + random.below(4 * 1024);
  ByteWriter out;
  while (out.size() < size) out.u64_le(random.next());
  return out.take();
}

class Arm {
 public:
  virtual ~Arm() = default;
  // What a game has done before it saves, which is not timed.
  virtual Status edit(const std::vector<Edit>&) { return {}; }
  virtual Status save(const std::vector<Edit>& edits) = 0;
  // That it holds these, and is closed.
  virtual Status finish(const std::vector<Edit>& last) = 0;
};

class RawArm final : public Arm {
 public:
  explicit RawArm(std::unique_ptr<File> file) : file_(std::move(file)) {}
  Status save(const std::vector<Edit>& edits) override {
    ByteWriter all;
    for (const Edit& edit : edits) all.bytes(edit.payload);
    VARVE_TRY(file_->append(all.view()));
    return file_->sync_data();
  }
  Status finish(const std::vector<Edit>&) override { return file_->close(); }

 private:
  std::unique_ptr<File> file_;
};

class EngineArm final : public Arm {
 public:
  explicit EngineArm(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  Status save(const std::vector<Edit>& edits) override {
    WriteBatch batch;
    for (const Edit& edit : edits) batch.put(key_of(edit.pos), edit.payload);
    const WriteResult written = backend_->write(batch);
    return written ? Status() : Status(written.error());
  }
  Status finish(const std::vector<Edit>& last) override {
    for (const Edit& edit : last) {
      VARVE_ASSIGN(const auto found, backend_->get(key_of(edit.pos)));
      if (found != edit.payload) return corruption("it holds something else");
    }
    return backend_->close();
  }

 private:
  static Bytes key_of(const ChunkPos& pos) {
    ByteWriter key;
    key.u32_be(static_cast<std::uint32_t>(pos[0]));
    key.u32_be(static_cast<std::uint32_t>(pos[1]));
    return key.take();
  }
  std::unique_ptr<Backend> backend_;
};

class StoreArm final : public Arm {
 public:
  explicit StoreArm(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  Status save(const std::vector<Edit>& edits) override {
    Commit commit{.tick = ++tick_};
    for (const Edit& edit : edits) commit.chunks.push_back({edit.pos, edit.payload});
    Progress progress;
    VARVE_TRY(store_->commit(commit, progress));
    return {};
  }
  Status finish(const std::vector<Edit>& last) override {
    for (const Edit& edit : last) {
      VARVE_ASSIGN(const auto found, store_->read_chunk(edit.pos));
      if (found != edit.payload) return corruption("it holds something else");
    }
    return store_->close();
  }

 private:
  std::unique_ptr<Store> store_;
  std::uint64_t tick_ = 0;
};

class WorldArm final : public Arm {
 public:
  WorldArm(std::unique_ptr<World> world, bool waits) : world_(std::move(world)), waits_(waits) {}
  Status edit(const std::vector<Edit>& edits) override {
    world_->update(1.0 / 60);  // A frame, which takes in what came of the save before.
    for (const Edit& edit : edits) {
      VARVE_TRY(world_->put(edit.pos, std::make_unique<RawChunk>(edit.payload)));
    }
    return {};
  }
  Status save(const std::vector<Edit>&) override {
    VARVE_TRY(waits_ ? world_->save().wait() : world_->save_now());
    return {};
  }
  Status finish(const std::vector<Edit>& last) override {
    for (const Edit& edit : last) {
      VARVE_ASSIGN(const auto found, world_->store().read_chunk(edit.pos));
      if (found != edit.payload) return corruption("it holds something else");
    }
    return world_->close();
  }

 private:
  std::unique_ptr<World> world_;
  bool waits_;
};

Result<std::unique_ptr<Arm>> make_arm(std::string_view name, const std::string& path) {
  if (name == kRawArm) {
    VARVE_ASSIGN(auto file, posix_vfs().open(path, OpenMode::create_new));
    return std::make_unique<RawArm>(std::move(file));
  }
  if (name == "engine") {
    VARVE_ASSIGN(auto backend, open_file_backend(path));
    return std::make_unique<EngineArm>(std::move(backend));
  }
  const SpeedClass speed = name.ends_with(kFastSuffix) ? SpeedClass::fast : SpeedClass::raw;
  VARVE_ASSIGN(auto store, make_varve_format("varve", {.speed = speed})->create(path));
  if (name.starts_with("store")) return std::make_unique<StoreArm>(std::move(store));
  VARVE_ASSIGN(auto world, World::on(std::move(store), {.autosave = AutosaveConfig{
                                                            .enabled = false, .max_backups = 0}}));
  return std::make_unique<WorldArm>(std::move(world), name.ends_with(kWaitSuffix));
}

Result<std::vector<Measurement>> run_varve_save(const Context& context) {
  const std::size_t chunk_count = context.quick ? 100 : 10'000;
  VARVE_ASSIGN(DeviceSettler settler, DeviceSettler::create(context.dir));
  Random random(kSeed);
  std::vector<std::unique_ptr<Arm>> arms;
  std::vector<Series> series;
  for (const char* name :
       {kRawArm, "engine", "store", "world", "world, wait", "store, fast", "world, fast"}) {
    VARVE_ASSIGN(auto arm, make_arm(name, path_join(context.dir, fmt::format("save {}", name))));
    arms.push_back(std::move(arm));
    series.push_back({.arm = name, .samples = {}, .error = {}});
  }
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < chunk_count; ++i) {
    edits.push_back({pos_of(i), payload_from(random)});
    if (edits.size() < 500 && i + 1 < chunk_count) continue;
    for (const auto& arm : arms) {
      VARVE_TRY(arm->edit(edits));
      VARVE_TRY(arm->save(edits));
    }
    edits.clear();
  }
  // A sync takes 40 us more or less each time: so many rounds tell medians to about half a percent.
  interleave(
      series, context.rounds(1'500),
      [&] {
        edits.clear();
        const std::size_t first = random.below(chunk_count);
        // Not side by side, and no chunk twice.
        for (std::size_t i = 0; i < kDirtyCount; ++i) {
          edits.push_back({pos_of((first + i * 17) % chunk_count), payload_from(random)});
        }
      },
      [&](std::size_t index) -> Result<double> {
        VARVE_TRY(arms[index]->edit(edits));
        VARVE_TRY(settler.settle(2ms, 1'000'000));
        const Stopwatch watch;
        VARVE_TRY(arms[index]->save(edits));
        return watch.milliseconds();
      });
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (series[i].failed()) continue;
    const Status good = arms[i]->finish(edits);
    if (!good) series[i].error = good.error().message();
  }
  return std::vector<Measurement>{
      {.title =
           fmt::format("varve: save of 5 of {} chunks until it is stored (goal: world <= 1.1 of "
                       "engine)",
                       chunk_count),
       .unit = "ms",
       .better = Better::smaller,
       .compared = true,
       .series = std::move(series)}};
}

}  // namespace

void add_varve_save_workloads(Workloads& workloads) {
  workloads.push_back({.name = "varve_save",
                       .summary = "save of 5 of 10,000 chunks: engine, varve store and world",
                       .run = run_varve_save});
}

}  // namespace varve::bench
