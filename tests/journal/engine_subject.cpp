#include "journal/engine_subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/try.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

constexpr std::string_view kTickGlobal = "the tick";
// What the state was before the tick: so each tick that is recovered vouches for the one before.
constexpr std::string_view kDigestGlobal = "the digest";
constexpr std::string_view kSnapshotStart = "snapshot ";

class EngineSession final : public crash::Session {
 public:
  EngineSession(std::unique_ptr<StorageEngine> engine, bool shows_snapshots)
      : engine_(std::move(engine)), shows_snapshots_(shows_snapshots) {}

  Status apply(const crash::Step& step) override {
    if (step.upkeep == "sync") VARVE_TRY(engine_->sync());
    if (step.upkeep == "snapshot" && engine_->latest_tick()) VARVE_TRY(engine_->create_snapshot());
    if (step.upkeep == "truncate") {
      VARVE_TRY(engine_->truncate_before(engine_->latest_tick().value_or(0)));
    }
    const bool is_tick = std::any_of(step.changes.begin(), step.changes.end(),
                                     [](const auto& change) { return !is_snapshot(change.first); });
    if (is_tick) VARVE_TRY(commit(step));
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
    const auto latest = engine_->latest_tick();
    if (!latest) return crash::Records();
    std::optional<std::uint64_t> before;
    for (std::uint64_t tick = *engine_->oldest_tick(); tick <= *latest; ++tick) {
      auto state = engine_->recover(tick);
      if (!state) return state.error().with_context(fmt::format("recovering tick {}", tick));
      VARVE_TRY(check(*state, tick));
      if (before && state->global(kDigestGlobal)->text() != std::to_string(*before)) {
        return corruption(fmt::format("tick {} was recovered as another", tick - 1));
      }
      before = state->digest();
    }
    crash::Records records = records_of(engine_->state());
    if (!shows_snapshots_) return records;
    for (const SnapshotMeta& snapshot : engine_->snapshots()) {
      records.emplace(snapshot_key(snapshot.tick), Bytes());
    }
    return records;
  }
  Status close() override { return engine_->close(); }

 private:
  static bool is_snapshot(std::string_view key) { return key.starts_with(kSnapshotStart); }

  Status commit(const crash::Step& step) {
    const std::uint64_t tick = engine_->latest_tick().value_or(0) + 1;
    TickRecorder recorder;
    for (const auto& [key, value] : step.changes) {
      if (!is_snapshot(key)) recorder.put_global(key, value);
    }
    recorder.put_global(kTickGlobal, Bytes::copy_of(std::to_string(tick)));
    recorder.put_global(kDigestGlobal, Bytes::copy_of(std::to_string(engine_->state().digest())));
    // The allocator has a history too: one comes with every tick, and every third goes.
    VARVE_ASSIGN(const EntityId entity, engine_->state().next_entity());
    recorder.spawn(entity, ChunkPos(static_cast<std::int32_t>(tick), 0));
    recorder.insert(entity, kWholeEntity, Bytes::copy_of(std::to_string(tick)));
    if (tick % 3 == 0) recorder.despawn(first_entity(engine_->state()));
    return engine_->commit_tick(tick, recorder.take());
  }
  static EntityId first_entity(const EntityState& state) {
    EntityId first = 0;
    state.for_each([&](const EntityView& view) {
      first = view.entity;
      return false;
    });
    return first;
  }
  static Status check(const EntityState& state, std::uint64_t tick) {
    const Bytes* const own = state.global(kTickGlobal);
    if (own == nullptr || own->text() != std::to_string(tick)) {
      return corruption(fmt::format("recovering tick {} gave tick {}", tick,
                                    own == nullptr ? "none" : std::string(own->text())));
    }
    if (state.entity_count() != tick - tick / 3) {
      return corruption(fmt::format("tick {} has {} entities", tick, state.entity_count()));
    }
    return {};
  }
  static crash::Records records_of(const EntityState& state) {
    crash::Records records;
    for (auto& [name, data] : state.globals()) {
      if (name != kTickGlobal && name != kDigestGlobal) records.emplace(name, data);
    }
    return records;
  }

  std::unique_ptr<StorageEngine> engine_;
  const bool shows_snapshots_;
  std::vector<std::optional<std::uint64_t>> ticks_;
};

}  // namespace

std::string snapshot_key(std::uint64_t tick) { return fmt::format("{}{}", kSnapshotStart, tick); }

crash::Start start_after(crash::Subject& subject, const crash::Workload& workload) {
  sim::SimDisk disk;
  crash::Start start;
  auto session = subject.open(disk).value();
  for (const crash::Step& step : workload) {
    if (step.upkeep == "reopen") {
      EXPECT_TRUE(session->close());
      session.reset();
      session = subject.open(disk).value();
      continue;
    }
    EXPECT_TRUE(session->apply(step));
    start.records = crash::after(std::move(start.records), step);
  }
  EXPECT_TRUE(session->close());
  start.image = disk.image();
  return start;
}

Result<std::unique_ptr<crash::Session>> EngineSubject::open(Vfs& vfs) {
  VARVE_ASSIGN(auto engine, journal::open_storage(vfs, "journal", config_,
                                                  {.background = false, .seed = 7, .now = [] {
                                                     return std::chrono::system_clock::time_point();
                                                   }}));
  if (!engine->report().problems.empty()) return engine->report().problems.front();
  return std::make_unique<EngineSession>(std::move(engine), shows_snapshots_);
}

}  // namespace varve::test
