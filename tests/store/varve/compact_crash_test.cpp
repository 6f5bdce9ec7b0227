// Saves that are crashed, and on disks that fail, while their records are written anew.
//
// Invariants checked, for each crash state: the save opens with exactly the records it had, at its
// tick; nothing is reported as damage, and verify() finds nothing. Each sweep is of a compact()
// that is seen to write anew what it is about: frames, a dictionary, deltas.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "backend/log/log_workloads.h"
#include "base/try.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "io/sim/sim_disk.h"
#include "store/varve/crash_subject.h"
#include "store/varve/payload.h"
#include "store/varve/varve_store.h"
#include "varve/generator.h"

namespace varve::test {
namespace {

using Generators = std::vector<std::shared_ptr<const Generator>>;

// Small chunks that have much in common and little in themselves.
std::string text_of(std::uint32_t number) {
  std::mt19937 random(number);
  std::string text;
  for (int i = 0; i < 16; ++i) {
    text += "block=minecraft:" + std::to_string(random() % 50) + "_planks;facing=";
    text += std::to_string(random() % 4) + ";light=" + std::to_string(random() % 16) + "\n";
  }
  return text;
}

// Each version makes much the same as the one before.
class Versioned final : public Generator {
 public:
  explicit Versioned(std::uint32_t version) : version_(version) {}
  GeneratorId id() const override { return {"versioned", version_}; }
  Result<Bytes> generate(const ChunkPos& pos) const override {
    std::string text = text_of(static_cast<std::uint32_t>(pos[0]));
    text[10] = static_cast<char>('0' + version_);
    return Bytes::copy_of(text);
  }

 private:
  const std::uint32_t version_;
};

std::shared_ptr<const Generator> version(std::uint32_t number) {
  return std::make_shared<Versioned>(number);
}

// A save as it was, and what opens it to compact it.
struct Scene {
  VarveOptions old_options = {};
  Generators old_generators = {};
  VarveOptions options = {};
  Generators generators = {};
  std::uint32_t chunk_count = 12;
};

Result<std::unique_ptr<Store>> open_with(Vfs& vfs, const VarveOptions& options,
                                         const Generators& generators) {
  VARVE_ASSIGN(auto store, small_format(vfs, options)->open("world"));
  for (const auto& generator : generators) store->use_generator(generator);
  const OpenReport report = store->open_report();
  if (!report.problems.empty()) return report.problems.front().error.with_context("open report");
  Progress progress;
  VARVE_ASSIGN(const VerifyReport found, store->verify(progress));
  if (!found.clean()) return found.problems.front().error.with_context("verify");
  return store;
}

// Every chunk is the first generator's but for a byte; beside them is a record of every other kind.
crash::Start make_start(const Scene& scene) {
  sim::SimDisk disk;
  crash::Start start;
  const auto store = small_format(disk, scene.old_options)->create("world").value();
  crash::Step fill{.changes = {{"player:ann", Bytes::copy_of(std::string(900, 'a'))},
                               {"global:tick", Bytes::copy_of("3")},
                               {"global:" + std::string(255, 'g'), Bytes::copy_of(text_of(1))},
                               {"entity:9", crash::entity_record({}, as_byte_view(text_of(2)))}}};
  for (std::uint32_t i = 0; i < scene.chunk_count; ++i) {
    std::string text = text_of(i);
    text[20] = '!';
    const ChunkPos pos(static_cast<std::int32_t>(i), 0);
    fill.changes[to_string(pos)] = Bytes::copy_of(text);
    if (i % 4 != 0) continue;
    fill.changes[entity_key(100 + i)] = crash::entity_record(pos, as_byte_view(text_of(i + 7)));
  }
  Progress progress;
  for (const auto& generator : scene.old_generators) {
    store->use_generator(generator);
    Commit commit = crash::to_commit(fill.changes, 3).value();
    // The others are only to be known to the save.
    if (generator != scene.old_generators.front()) commit = {.tick = 3};
    commit.generator = generator->id();
    EXPECT_TRUE(store->commit(commit, progress));
  }
  if (scene.old_generators.empty()) {
    EXPECT_TRUE(store->commit(crash::to_commit(fill.changes, 3).value(), progress));
  }
  EXPECT_TRUE(store->close());
  start.records = crash::after({}, fill);
  start.image = disk.image();
  return start;
}

// How the records lie in the backend: what compact() is to change.
struct Frames {
  std::map<std::string, Bytes> by_key;
  std::size_t dictionary_count = 0;
  std::map<std::uint32_t, std::size_t> delta_counts;  // by the number of their generator
};

Frames frames_on(const sim::DiskImage& image) {
  sim::SimDisk disk(image);
  const auto store = small_format(disk)->open("world").value();
  Frames frames;
  const auto page =
      static_cast<VarveStore&>(*store).backend().range({.count_max = 100'000}).value();
  EXPECT_FALSE(page.next);
  for (const RangeEntry& entry : page.entries) {
    const auto tag = static_cast<KeyTag>(entry.key.view()[0]);
    frames.by_key.emplace(entry.key.text(), entry.value.value());
    if (tag == KeyTag::dictionary) ++frames.dictionary_count;
    const auto info = inspect_payload(*entry.value);
    if (tag == KeyTag::chunk && info && info->transform == PayloadTransform::delta) {
      ++frames.delta_counts[info->generator_number];
    }
  }
  EXPECT_TRUE(store->close());
  return frames;
}

std::size_t changed_count(const Frames& before, const Frames& after) {
  std::size_t count = 0;
  for (const auto& [key, value] : after.by_key) {
    const auto it = before.by_key.find(key);
    count += it == before.by_key.end() || it->second != value ? 1 : 0;
  }
  return count;
}

class CompactCrash {
 public:
  explicit CompactCrash(Scene scene) : scene_(std::move(scene)), start_(make_start(scene_)) {}

  // Every crash of one compact(), and what that did to the frames.
  void sweep(std::string_view what, const sim::CrashLimits& limits, std::uint64_t recovery_every) {
    before = frames_on(start_.image);
    const auto run = crash::record_run(subject_, workload_, start_.image, {start_.records}, 1);
    ASSERT_TRUE(run) << run.error().message();
    const auto result =
        crash::sweep_run(subject_, *run, {.limits = limits, .recovery_every = recovery_every});
    sim::DiskReplay replay(run->start);
    for (const sim::DiskOp& op : run->log) ASSERT_TRUE(replay.step(op));
    sim::CrashChoice all;
    all.kept.assign(replay.pending().size(), true);
    end_ = replay.crash(all);
    after = frames_on(end_);
    std::cout << what << ": " << changed_count(before, after) << " frames written anew, "
              << result.summary() << "\n";
    EXPECT_TRUE(result.ok()) << what;
    EXPECT_GT(result.state_count, 100u);
    EXPECT_GT(result.recovery_state_count, 100u);
  }

  // Every operation fails in turn, and the disk is crashed all the same.
  void fail(std::string_view what) {
    constexpr crash::SweepOptions kSample{.limits = {.all_subsets_atom_count = 2,
                                                     .position_count_max = 1,
                                                     .sample_count = 1,
                                                     .garbage_count_max = 1},
                                          .state_every = 37};
    for (const auto& result :
         {crash::sweep_io_errors(subject_, workload_, kSample, start_),
          crash::sweep_killed_processes(subject_, workload_, kSample, start_)}) {
      std::cout << what << ", seed " << kSample.seed << ": " << result.summary() << "\n";
      EXPECT_TRUE(result.ok()) << what;
      EXPECT_GT(result.failed_run_count, 10u);
    }
  }

  // Whether the compacted save is whole with these generators alone.
  Status opens_with(const Generators& generators) const {
    sim::SimDisk disk(end_);
    VARVE_ASSIGN(const auto store, open_with(disk, scene_.options, generators));
    VARVE_ASSIGN(const auto records, crash::read_records(*store));
    if (records != start_.records) return corruption("it holds something else");
    return store->close();
  }

  Frames before;
  Frames after;

 private:
  const Scene scene_;
  const crash::Start start_;
  const crash::Workload workload_ = {{.changes = {}, .upkeep = "compact"}};
  crash::StoreCrashSubject subject_{
      [this](Vfs& vfs) { return open_with(vfs, scene_.options, scene_.generators); }};
  sim::DiskImage end_;
};

constexpr sim::CrashLimits kManyStates{.all_subsets_atom_count = 7,
                                       .position_count_max = 24,
                                       .sample_count = 24,
                                       .garbage_count_max = 6};

TEST(VarveCompactCrash, RecordsThatAreCompressedAnew) {
  CompactCrash compact({.old_options = {.speed = SpeedClass::raw}});
  compact.sweep("compressed anew", kManyStates, 97);
  EXPECT_GE(changed_count(compact.before, compact.after), 15u);
  compact.fail("compressed anew, errors");
}

TEST(VarveCompactCrash, ADictionaryThatIsLearned) {
  CompactCrash compact({.old_options = {.speed = SpeedClass::fast},
                        .options = {.speed = SpeedClass::balanced},
                        .chunk_count = 160});
  compact.sweep("a dictionary",
                {.all_subsets_atom_count = 6,
                 .position_count_max = 12,
                 .sample_count = 12,
                 .garbage_count_max = 4},
                997);
  EXPECT_EQ(compact.before.dictionary_count, 0u);
  EXPECT_EQ(compact.after.dictionary_count, 1u);
  EXPECT_GE(changed_count(compact.before, compact.after), 160u);
}

TEST(VarveCompactCrash, DeltasThatComeToBeOfANewGenerator) {
  CompactCrash compact({.old_options = {.deltas = true},
                        .old_generators = {version(1), version(2)},
                        .options = {.deltas = true},
                        .generators = {version(1), version(2)}});
  compact.sweep("a new generator", kManyStates, 97);
  ASSERT_EQ(compact.before.delta_counts.size(), 1u);
  ASSERT_EQ(compact.after.delta_counts.size(), 1u);
  EXPECT_NE(compact.before.delta_counts.begin()->first, compact.after.delta_counts.begin()->first);
  EXPECT_EQ(compact.after.delta_counts.begin()->second, 12u);
  const Status alone = compact.opens_with({version(2)});
  EXPECT_TRUE(alone) << alone.error().message();
  EXPECT_FALSE(compact.opens_with({version(1)}));
}

TEST(VarveCompactCrash, DeltasThatAreGivenUp) {
  CompactCrash compact({.old_options = {.deltas = true},
                        .old_generators = {version(1)},
                        .generators = {version(1)}});
  compact.sweep("no generator", kManyStates, 97);
  EXPECT_EQ(compact.before.delta_counts.begin()->second, 12u);
  EXPECT_TRUE(compact.after.delta_counts.empty());
  const Status alone = compact.opens_with({});
  EXPECT_TRUE(alone) << alone.error().message();
}

}  // namespace
}  // namespace varve::test
