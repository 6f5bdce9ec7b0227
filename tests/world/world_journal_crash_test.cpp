// A world, its journal and its store on one disk that crashes.
//
// Invariants checked, for each crash state: every tick that was durable is there, and of the others
// a prefix, whole, whatever of it had been saved meanwhile; a save never shows more than the log.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "backend/log/small_log.h"
#include "base/try.h"
#include "contract/one_file_store.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "crash/store_subject.h"
#include "store/nebula/nebula_store.h"
#include "store/varve/varve_format.h"
#include "world/world_seam.h"

namespace varve::test {
namespace {

constexpr std::string_view kLink = "global:varve:journal";

WorldOptions options_with(Durability durability) {
  WorldOptions options;
  options.autosave = AutosaveConfig{.enabled = false, .max_backups = 0};
  options.timed_saves = {.players_s = 0};
  // Segments of a few ticks, stretches of fewer, a short past: everything happens.
  options.journal = JournalConfig{.path = "world.journal",
                                  .sync_mode = durability,
                                  .segment_size = 4096,
                                  .history_ticks = 20,
                                  .stretch_ticks = 10};
  return options;
}

// A step is a tick. The journal works inside the calls, and the game waits for the saver, so that
// every run makes the same operations.
class JournalSession final : public crash::Session {
 public:
  // `is_strict`: a step whose tick is not durable has failed.
  JournalSession(std::unique_ptr<World> world, bool is_strict)
      : world_(std::move(world)), is_strict_(is_strict) {}

  Status apply(const crash::Step& step) override {
    if (step.upkeep == "durable") VARVE_TRY(world_->make_durable());
    if (step.upkeep == "save") {
      world_->update(0);
      VARVE_TRY(world_->save().wait());
      world_->update(0);
    }
    // Parts of the world, which leave the store's tick alone.
    if (step.upkeep == "part") {
      VARVE_TRY(world_->player_left("ann").wait());
      world_->update(0);
    }
    if (!step.changes.empty()) VARVE_TRY(play(step));
    ticks_.push_back(world_->current_tick());
    return {};
  }
  std::size_t unsynced_count() const override {
    const std::uint64_t durable = world_->durable_tick();
    std::size_t count = 0;
    for (const std::uint64_t tick : ticks_) count += tick > durable ? 1 : 0;
    return count;
  }
  Result<crash::Records> read_all() override {
    VARVE_ASSIGN(crash::Records records, crash::read_records(world_->store()));
    if (touched_.empty()) VARVE_TRY(check_tick(records));
    records.erase(std::string(kLink));
    // What is in memory and not stored yet.
    for (const std::string& key : touched_) {
      VARVE_ASSIGN(const auto value, in_memory(key));
      if (value) {
        records.insert_or_assign(key, *value);
      } else {
        records.erase(key);
      }
    }
    return records;
  }
  Status close() override {
    // As a process that ends: the journal has what is not stored.
    world_.reset();
    return {};
  }

 private:
  // Steps that write their number down are ten ticks apart. Between them are those that do not: one
  // that shows that the world goes on, and what is tried again after a failure.
  Status check_tick(const crash::Records& records) const {
    const auto numbered = records.find("global:tick");
    if (numbered == records.end()) return {};
    const std::uint64_t number = std::stoull(std::string(numbered->second.text()));
    const std::uint64_t tick = world_->store().tick();
    if (tick >= number && tick < number + 10) return {};
    return corruption("the store is at tick " + std::to_string(tick) + ", its records at " +
                      std::to_string(number));
  }

  Status play(const crash::Step& step) {
    std::uint64_t tick = world_->current_tick() + 1;
    if (const auto found = step.changes.find("global:tick"); found != step.changes.end())
      tick = std::stoull(std::string(found->second->text()));
    while (world_->current_tick() + 1 < tick) world_->tick();
    VARVE_ASSIGN(const Commit changes, crash::to_commit(step.changes, tick));
    for (const ChunkChange& change : changes.chunks) VARVE_TRY(change_chunk(change));
    for (const EntityChange& change : changes.entities)
      VARVE_TRY(change.value ? world_->put_entity({.id = change.id,
                                                   .owner = change.value->owner,
                                                   .data = change.value->data})
                             : world_->erase_entity(change.id));
    for (const NamedChange& change : changes.players)
      VARVE_TRY(change.data ? world_->put_player(change.name, *change.data)
                            : world_->erase_player(change.name));
    for (const NamedChange& change : changes.globals)
      VARVE_TRY(change.data ? world_->put_global(change.name, *change.data)
                            : world_->erase_global(change.name));
    for (const auto& [key, value] : step.changes) touched_.insert(key);
    world_->tick();
    return is_strict_ ? world_->make_durable() : Status{};
  }

  // Chunks that keep their size are edited.
  Status change_chunk(const ChunkChange& change) {
    if (!change.payload) return world_->erase(change.pos);
    const auto here = world_->load_now(change.pos);
    if (here && here->as<RawChunk>().view().size() == change.payload->size()) {
      VARVE_TRY(world_->edit(change.pos, RawChunk::edit_of(0, *change.payload)));
      return {};
    }
    return world_->put(change.pos, std::make_unique<RawChunk>(*change.payload));
  }

  Result<std::optional<Bytes>> in_memory(const std::string& text) {
    VARVE_ASSIGN(const RecordKey key, parse_record_key(text));
    switch (key.kind) {
      case RecordKind::chunk: {
        const auto chunk = world_->load_now(key.pos);
        if (!chunk && chunk.error().code() == ErrorCode::not_found) return std::optional<Bytes>();
        if (!chunk) return chunk.error();
        return std::optional(Bytes::copy_of(chunk->as<RawChunk>().view()));
      }
      case RecordKind::entity: {
        VARVE_ASSIGN(const auto entity, world_->load_entity(key.id));
        if (!entity) return std::optional<Bytes>();
        return std::optional(crash::entity_record(entity->owner, entity->data));
      }
      case RecordKind::player:
        return world_->load_player(key.name);
      case RecordKind::global:
        return world_->load_global(key.name);
    }
    return invalid_argument("no kind");
  }

  std::unique_ptr<World> world_;
  const bool is_strict_;
  std::set<std::string> touched_;
  std::vector<std::uint64_t> ticks_;
};

class JournalSubject final : public crash::Subject {
 public:
  JournalSubject(crash::OpenOrCreate open, Durability durability, std::string one_more)
      : open_(std::move(open)), durability_(durability), one_more_(std::move(one_more)) {}

  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    VARVE_ASSIGN(std::unique_ptr<Store> store, open_(vfs));
    VARVE_ASSIGN(auto world, WorldSeam::on(std::move(store), options_with(durability_),
                                           {.vfs = vfs, .background = false, .seed = 5}));
    return std::make_unique<JournalSession>(std::move(world),
                                            durability_.kind == Durability::Kind::every_commit);
  }
  crash::Step one_more() const override {
    return {.changes = {{one_more_, Bytes::copy_of("still taking ticks")}}};
  }

 private:
  crash::OpenOrCreate open_;
  Durability durability_;
  std::string one_more_;
};

Result<std::unique_ptr<Store>> open_varve(Vfs& vfs) {
  const auto format = make_varve_format(vfs, "varve", SaveBackend::file, {}, small_log_options());
  auto store = format->open("world");
  if (!store && store.error().code() == ErrorCode::not_found) return format->create("world");
  return store;
}
Result<std::unique_ptr<Store>> open_nebula(Vfs& vfs) {
  auto store = nebula::NebulaStore::open(vfs, "world");
  if (!store && store.error().code() == ErrorCode::not_found) {
    return nebula::NebulaStore::create(vfs, "world");
  }
  return store;
}
Result<std::unique_ptr<Store>> open_one_file(Vfs& vfs) {
  return OneFileStore::open_or_create(vfs, "world");
}

crash::Workload workload(std::size_t tick_count, const Capabilities& can) {
  crash::Workload steps;
  std::size_t number = 0;
  for (crash::Step& step : crash::store_workload(tick_count, can)) {
    steps.push_back(std::move(step));
    ++number;
    if (number % 2 == 0) steps.push_back({.changes = {}, .upkeep = "part"});
    if (number % 3 == 0) steps.push_back({.changes = {}, .upkeep = "save"});
    if (number % 4 == 0) steps.push_back({.changes = {}, .upkeep = "reopen"});
    if (number % 5 == 0) steps.push_back({.changes = {}, .upkeep = "durable"});
  }
  return steps;
}

Capabilities without_entities(Capabilities can) {
  can.entities = false;
  return can;
}

constexpr sim::CrashLimits kLimits{.all_subsets_atom_count = 3,
                                   .position_count_max = 6,
                                   .sample_count = 3,
                                   .garbage_count_max = 1};

void sweep(std::string_view what, const crash::OpenOrCreate& open, const Capabilities& can,
           const std::string& one_more, Durability durability, std::uint64_t recovery_every) {
  JournalSubject subject(open, durability, one_more);
  const auto result = crash::sweep_crashes(
      subject, workload(6, can), {.seed = 1, .limits = kLimits, .recovery_every = recovery_every});
  std::cout << what << ": " << result.summary() << "\n";
  ASSERT_TRUE(result.ok()) << what;
  EXPECT_GT(result.point_count, 100U) << "crashed too seldom to mean anything";
}

constexpr Durability kEveryTick{.kind = Durability::Kind::every_commit};
constexpr Durability kEveryThird{.kind = Durability::Kind::every_n, .count = 3};

TEST(WorldJournalCrash, EveryTickSyncedOverVarve) {
  sweep("varve, every tick", open_varve, {}, "chunk:77,-77", kEveryTick, 997);
}
TEST(WorldJournalCrash, EveryThirdTickSyncedOverVarve) {
  sweep("varve, every third tick", open_varve, {}, "chunk:77,-77", kEveryThird, 997);
}
TEST(WorldJournalCrash, EveryTickSyncedOverNebula) {
  sweep("nebula, every tick", open_nebula, without_entities(nebula::NebulaStore::what_it_can()),
        "chunk:5,77,-77,0", kEveryTick, 997);
}
TEST(WorldJournalCrash, EveryThirdTickSyncedOverNebula) {
  sweep("nebula, every third tick", open_nebula,
        without_entities(nebula::NebulaStore::what_it_can()), "chunk:5,77,-77,0", kEveryThird, 997);
}
TEST(WorldJournalCrash, EveryTickSyncedOverOneFile) {
  sweep("one file, every tick", open_one_file, {}, "chunk:77,-77", kEveryTick, 499);
}

constexpr crash::SweepOptions kFewStates{.seed = 6,
                                         .limits = {.all_subsets_atom_count = 2,
                                                    .position_count_max = 2,
                                                    .sample_count = 1,
                                                    .garbage_count_max = 1},
                                         .state_every = 61};

TEST(WorldJournalCrash, ProcessesThatAreKilledLeaveWhatTheNextOneGoesOnWith) {
  JournalSubject subject(open_varve, kEveryTick, "chunk:77,-77");
  const auto result = crash::sweep_killed_processes(subject, workload(4, {}), kFewStates);
  std::cout << result.summary() << "\n";
  EXPECT_TRUE(result.ok());
  EXPECT_GT(result.run_count, 100U);
}

TEST(WorldJournalCrash, FullDisks) {
  JournalSubject subject(open_one_file, kEveryTick, "chunk:77,-77");
  const auto result = crash::sweep_full_disks(subject, workload(4, {}), kFewStates, 4096);
  std::cout << result.summary() << "\n";
  EXPECT_TRUE(result.ok());
}

TEST(WorldJournalCrash, EveryOperationFails) {
  JournalSubject subject(open_one_file, kEveryTick, "chunk:77,-77");
  const auto result = crash::sweep_io_errors(subject, workload(3, {}), kFewStates);
  std::cout << result.summary() << "\n";
  EXPECT_TRUE(result.ok());
  EXPECT_GT(result.failed_run_count, 100U);
}

}  // namespace
}  // namespace varve::test
