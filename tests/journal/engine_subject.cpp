#include "journal/engine_subject.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve::test {
namespace {

constexpr std::string_view kTickGlobal = "the tick";
// What the state was before the tick: so each tick that is recovered vouches for the one before.
constexpr std::string_view kDigestGlobal = "the digest";

class EngineSession final : public crash::Session {
 public:
  explicit EngineSession(std::unique_ptr<StorageEngine> engine) : engine_(std::move(engine)) {}

  Status apply(const crash::Step& step) override {
    if (step.upkeep == "sync") VARVE_TRY(engine_->sync());
    if (step.upkeep == "snapshot" && engine_->latest_tick()) VARVE_TRY(engine_->create_snapshot());
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
    return records_of(engine_->state());
  }
  Status close() override { return engine_->close(); }

 private:
  Status commit(const crash::Step& step) {
    const std::uint64_t tick = engine_->latest_tick().value_or(0) + 1;
    TickRecorder recorder;
    for (const auto& [key, value] : step.changes) recorder.put_global(key, value);
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
  std::vector<std::optional<std::uint64_t>> ticks_;
};

}  // namespace

Result<std::unique_ptr<crash::Session>> EngineSubject::open(Vfs& vfs) {
  VARVE_ASSIGN(auto engine, journal::open_storage(vfs, "journal", config_,
                                                  {.background = false, .seed = 7, .now = [] {
                                                     return std::chrono::system_clock::time_point();
                                                   }}));
  if (!engine->report().problems.empty()) return engine->report().problems.front();
  return std::make_unique<EngineSession>(std::move(engine));
}

}  // namespace varve::test
