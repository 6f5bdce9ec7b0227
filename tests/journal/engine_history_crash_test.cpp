// A journal with short stretches crashed at every point.
//
// Invariants checked, for each crash state: of every tick of the history, each entity's component
// and each global found by the index is what replaying the whole log gives, and so is the history
// of each entity; so the indexes that survived agree with the log that did.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <random>

#include "base/try.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "journal/engine.h"

namespace varve::test {
namespace {

constexpr sim::CrashLimits kLimits{.all_subsets_atom_count = 3,
                                   .position_count_max = 5,
                                   .sample_count = 2,
                                   .garbage_count_max = 1};
constexpr EntityId kEntityCount = 4;

class HistorySession final : public crash::Session {
 public:
  explicit HistorySession(std::unique_ptr<StorageEngine> engine) : engine_(std::move(engine)) {}

  Status apply(const crash::Step& step) override {
    if (step.upkeep == "cut" && engine_->latest_tick()) {
      VARVE_TRY(engine_->create_snapshot());
      VARVE_TRY(engine_->truncate_before(*engine_->latest_tick() - 2));
    }
    if (!step.changes.empty()) VARVE_TRY(commit(step));
    ticks_.push_back(engine_->latest_tick());
    return {};
  }
  std::size_t unsynced_count() const override {
    const auto durable = engine_->durable_tick();
    const auto first = std::find_if(ticks_.begin(), ticks_.end(),
                                    [&](const auto& tick) { return tick > durable; });
    return static_cast<std::size_t>(ticks_.end() - first);
  }
  Result<crash::Records> read_all() override {
    crash::Records records;
    const auto latest = engine_->latest_tick();
    if (!latest) return records;
    std::map<EntityId, std::vector<ComponentChange>> expected;
    std::optional<EntityState> before;
    const std::uint64_t oldest = *engine_->oldest_tick();
    for (std::uint64_t tick = oldest; tick <= *latest; ++tick) {
      VARVE_ASSIGN(const EntityState state, engine_->recover(tick));
      VARVE_TRY(check_tick(tick, state));
      // Every value is another one, so that a change is seen.
      for (EntityId entity = 1; before && entity <= kEntityCount; ++entity) {
        const auto was = before->component(entity, kWholeEntity);
        const auto is = state.component(entity, kWholeEntity);
        const bool is_same = was && is ? equal(*was, *is) : was.has_value() == is.has_value();
        if (is_same) continue;
        expected[entity].push_back({tick, is ? std::optional(Bytes::copy_of(*is)) : std::nullopt});
      }
      before = state;
    }
    for (EntityId entity = 1; entity <= kEntityCount; ++entity) {
      VARVE_ASSIGN(const auto found,
                   engine_->entity_history(entity, kWholeEntity, {oldest + 1, *latest + 1}));
      if (found != expected[entity]) return corruption("the history of an entity is another one");
    }
    for (auto& [name, data] : engine_->state().globals()) records.emplace(name, data);
    return records;
  }
  Status close() override { return engine_->close(); }

 private:
  Status check_tick(std::uint64_t tick, const EntityState& state) {
    VARVE_ASSIGN(const auto past, engine_->at_tick(tick));
    for (EntityId entity = 1; entity <= kEntityCount; ++entity) {
      VARVE_ASSIGN(const auto found, past->component(entity, kWholeEntity));
      const auto is = state.component(entity, kWholeEntity);
      if (found.has_value() != is.has_value() || (is && !equal(*found, *is))) {
        return corruption(fmt::format("tick {}: entity {} is another one", tick, entity));
      }
    }
    for (const auto& [name, data] : state.globals()) {
      VARVE_ASSIGN(const auto found, past->global(name));
      if (found != data) return corruption(fmt::format("tick {}: {} is another one", tick, name));
    }
    return {};
  }
  Status commit(const crash::Step& step) {
    const std::uint64_t tick = engine_->latest_tick().value_or(0) + 1;
    TickRecorder recorder;
    for (const auto& [key, value] : step.changes) recorder.put_global(key, value);
    const EntityId entity = tick % kEntityCount + 1;
    const EntityState state = engine_->state();
    // Entities come lowest first, whatever their turn is.
    if (!state.contains(entity)) {
      VARVE_ASSIGN(const EntityId next, state.next_entity());
      if (next <= kEntityCount) {
        recorder.spawn(next);
        recorder.insert(next, kWholeEntity, Bytes::copy_of(std::to_string(tick)));
      }
    } else {
      recorder.insert(entity, kWholeEntity, Bytes::copy_of(std::to_string(tick)));
    }
    return engine_->commit_tick(tick, recorder.take());
  }

  std::unique_ptr<StorageEngine> engine_;
  std::vector<std::optional<std::uint64_t>> ticks_;
};

class HistorySubject final : public crash::Subject {
 public:
  explicit HistorySubject(Durability durability) {
    config_.wal_segment_size = 4096;
    config_.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 5};
    config_.sync_mode = durability;
    config_.history_ticks = 9;
  }
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    VARVE_ASSIGN(auto engine, journal::open_storage(
                                  vfs, "journal", config_,
                                  {.background = false, .seed = 7, .stretch_ticks = 3, .now = [] {
                                     return std::chrono::system_clock::time_point();
                                   }}));
    if (!engine->report().problems.empty()) return engine->report().problems.front();
    return std::make_unique<HistorySession>(std::move(engine));
  }

 private:
  StorageConfig config_;
};

crash::Workload workload(std::size_t step_count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  crash::Workload steps;
  for (std::size_t i = 0; i < step_count; ++i) {
    std::string value(random() % 900 + 1, '\0');
    for (char& c : value) c = static_cast<char>(random());
    crash::Step step;
    step.changes["global " + std::to_string(random() % 4)] = Bytes::copy_of(value);
    steps.push_back(std::move(step));
    if (random() % 8 == 0) steps.push_back({.changes = {}, .upkeep = "reopen"});
    if (random() % 8 == 0) steps.push_back({.changes = {}, .upkeep = "cut"});
  }
  return steps;
}

void sweep(std::string_view what, Durability durability, std::uint64_t seed) {
  HistorySubject subject(durability);
  const auto result = crash::sweep_crashes(
      subject, workload(14, seed), {.seed = seed, .limits = kLimits, .recovery_every = 499});
  std::cout << what << ", seed " << seed << ": " << result.summary() << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GT(result.state_count, result.point_count);
}

TEST(EngineHistoryCrash, EveryTickSynced) {
  sweep("every tick", {.kind = Durability::Kind::every_commit}, 1);
}

TEST(EngineHistoryCrash, EveryThirdTickSynced) {
  sweep("every third tick", {.kind = Durability::Kind::every_n, .count = 3}, 2);
}

TEST(EngineHistoryCrash, NeverSyncedUnlessAsked) {
  sweep("no syncs", {.kind = Durability::Kind::none}, 3);
}

TEST(EngineHistoryCrash, EveryOperationFails) {
  HistorySubject subject({.kind = Durability::Kind::every_commit});
  const auto result = crash::sweep_io_errors(subject, workload(5, 4),
                                             {.seed = 4,
                                              .limits = {.all_subsets_atom_count = 2,
                                                         .position_count_max = 2,
                                                         .sample_count = 1,
                                                         .garbage_count_max = 1},
                                              .state_every = 997});
  std::cout << result.summary() << "\n";
  EXPECT_TRUE(result.ok());
  EXPECT_GT(result.failed_run_count, 100u);
}

}  // namespace
}  // namespace varve::test
