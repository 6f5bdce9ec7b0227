// Looking back in a journal, against a model that keeps every tick: whatever was committed,
// dropped, opened again, snapshotted and truncated. The seeds are printed; VARVE_SEED replays one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "io/sim/sim_disk.h"
#include "journal/engine.h"
#include "model_world.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

using journal::open_storage;

constexpr ComponentId kComponentCount = 5;

// A game, and all it has been.
class Chronicle {
 public:
  explicit Chronicle(std::uint64_t seed) : game_(seed) {}

  TickMutations play(std::uint64_t tick, std::size_t step_count) {
    TickMutations mutations = game_.play_tick(step_count);
    worlds_[tick] = game_.world();
    ticks_[tick] = mutations;
    return mutations;
  }

  // As it was then.
  const ModelWorld& at(std::uint64_t tick) const {
    return std::prev(worlds_.upper_bound(tick))->second;
  }
  bool has_tick(std::uint64_t tick) const { return ticks_.contains(tick); }

  std::vector<ComponentChange> history(EntityId entity, ComponentId component,
                                       const TickRange& range) const {
    std::vector<ComponentChange> changes;
    for (auto at = ticks_.lower_bound(range.from); at != ticks_.end() && at->first < range.to;
         ++at) {
      std::optional<ComponentChange> change;
      const auto set = [&](std::optional<Bytes> value) { change = {at->first, std::move(value)}; };
      for (const auto& each : at->second.despawns)
        if (each.entity == entity) set(std::nullopt);
      for (const auto& each : at->second.spawns) {
        for (const auto& c : each.components)
          if (each.entity == entity && c.component == component) set(c.value);
      }
      for (const auto& each : at->second.removals)
        if (each.entity == entity && each.component == component) set(std::nullopt);
      for (const auto& each : at->second.inserts)
        if (each.entity == entity && each.component == component) set(each.value);
      if (change) changes.push_back(*change);
    }
    return changes;
  }
  // Everybody there ever was.
  std::set<EntityId> everybody() const {
    std::set<EntityId> all;
    for (const auto& [tick, world] : worlds_) {
      for (const auto& [entity, value] : world.entities) all.insert(entity);
    }
    return all;
  }

 private:
  RandomGame game_;
  std::map<std::uint64_t, ModelWorld> worlds_;
  std::map<std::uint64_t, TickMutations> ticks_;
};

template <class Map, class Key>
std::optional<std::string> in_model(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? std::nullopt : std::optional(at->second);
}
std::optional<std::string> text_of(const Result<std::optional<Bytes>>& value) {
  if (!value) return "error: " + value.error().message();
  return *value ? std::optional(std::string((*value)->text())) : std::nullopt;
}

// One thing after the other, each found by itself; then the whole.
void expect_same(const HistoricalState& past, const ModelWorld& world,
                 const std::set<EntityId>& everybody) {
  for (const EntityId entity : everybody) {
    const auto there = world.entities.find(entity);
    for (ComponentId component = 0; component < kComponentCount; ++component) {
      const auto expected = there == world.entities.end()
                                ? std::nullopt
                                : in_model(there->second.components, component);
      ASSERT_EQ(text_of(past.component(entity, component)), expected)
          << "entity " << entity << " component " << component;
    }
  }
  for (ComponentId id = 0; id < kComponentCount; ++id)
    ASSERT_EQ(text_of(past.singleton(id)), in_model(world.singletons, id)) << id;
  for (const char* name : {"p", "q", "r", "s", "nobody"}) {
    ASSERT_EQ(text_of(past.player(name)), in_model(world.players, name)) << name;
    ASSERT_EQ(text_of(past.global(name)), in_model(world.globals, name)) << name;
  }
  const auto state = past.state();
  ASSERT_TRUE(state) << state.error().message();
  ASSERT_EQ(difference(*state, world), "");
  std::vector<EntityId> in_box;
  const ChunkBox box{ChunkPos(-1, -1), ChunkPos(1, 0)};
  ASSERT_TRUE(past.for_each([&](const EntityView& view) {
    if (view.chunk && box.contains(*view.chunk)) in_box.push_back(view.entity);
    return true;
  }));
  ASSERT_EQ(past.entities_in(box).value(), in_box);
  ASSERT_EQ(past.entities_in(ChunkPos(1, 0)).value(), state->entities_in(ChunkPos(1, 0)));
  for (const EntityId entity : everybody)
    ASSERT_EQ(past.find(entity).value().has_value(), world.entities.contains(entity));
}

class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed), chronicle_(seed), seed_(seed) {
    config_.wal_segment_size = 4096;
    config_.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = below(20) + 3};
    config_.sync_mode = {.kind = Durability::Kind::every_n,
                         .count = static_cast<std::uint32_t>(below(4) + 1)};
    config_.compression = static_cast<LogCompression>(below(3));
    config_.history_ticks = below(80) + 10;
    stretch_ticks_ = below(25) + 1;
  }

  void live() {
    for (int life = 0; life < 3; ++life) {
      auto opened =
          open_storage(disk_, "journal", config_,
                       {.background = false, .seed = seed_ + 1, .stretch_ticks = stretch_ticks_});
      ASSERT_TRUE(opened) << opened.error().message();
      engine_ = *std::move(opened);
      for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(engine_->register_component(name));
      for (std::uint64_t n = below(60) + 5; n > 0; --n) {
        tick_ += below(6) == 0 ? below(9) + 1 : 1;
        const Status committed =
            engine_->commit_tick(tick_, chronicle_.play(tick_, static_cast<std::size_t>(below(9))));
        ASSERT_TRUE(committed) << committed.error().message();
        if (n % 16 == 0) look_back();
        if (testing::Test::HasFatalFailure()) return;
      }
      look_back();
      if (testing::Test::HasFatalFailure()) return;
      EXPECT_EQ(engine_->snapshot_problem(), std::nullopt);
      if (below(2) == 0) {
        ASSERT_TRUE(engine_->close());
      }
      engine_.reset();
    }
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::uint64_t oldest() const { return engine_->oldest_tick().value(); }

  void look_back() {
    const std::set<EntityId> everybody = chronicle_.everybody();
    for (int n = 0; n < 4; ++n) {
      const std::uint64_t tick = oldest() + below(tick_ - oldest() + 1);
      const auto past = engine_->at_tick(tick);
      ASSERT_TRUE(past) << past.error().message();
      ASSERT_EQ((*past)->tick(), tick);
      SCOPED_TRACE("tick " + std::to_string(tick));
      expect_same(**past, chronicle_.at(tick), everybody);
      if (testing::Test::HasFatalFailure()) return;
    }
    const std::uint64_t from = oldest() + 1 + below(tick_ - oldest() + 2);
    const TickRange range{from, from + below(70)};
    for (const EntityId entity : everybody) {
      for (ComponentId component = 0; component < kComponentCount; ++component) {
        const auto found = engine_->entity_history(entity, component, range);
        ASSERT_TRUE(found) << found.error().message();
        ASSERT_EQ(*found, chronicle_.history(entity, component, range)) << entity;
      }
    }
    find_some({oldest() + below(tick_ - oldest() + 1), tick_ + 1 - below(3)});
  }

  void find_some(const TickRange& range) {
    const std::size_t wanted_count = static_cast<std::size_t>(below(8));
    const std::string wanted_player(1, static_cast<char>('p' + below(4)));
    const auto found = engine_->find_tick(range, [&](const HistoricalState& past) -> Result<bool> {
      auto state = past.state();
      if (!state) return state.error();
      auto player = past.player(wanted_player);
      if (!player) return player.error();
      return state->entity_count() % 8 == wanted_count && player->has_value();
    });
    ASSERT_TRUE(found) << found.error().message();
    std::optional<std::uint64_t> expected;
    for (std::uint64_t tick = range.from; tick < range.to && !expected; ++tick) {
      const ModelWorld& world = chronicle_.at(tick);
      if (world.entities.size() % 8 == wanted_count && world.players.contains(wanted_player))
        expected = tick;
    }
    ASSERT_EQ(*found, expected);
  }

  std::mt19937_64 random_;
  Chronicle chronicle_;
  const std::uint64_t seed_;
  StorageConfig config_;
  std::uint64_t stretch_ticks_ = 1;
  sim::SimDisk disk_;
  std::unique_ptr<StorageEngine> engine_;
  std::uint64_t tick_ = 0;
};

void live(std::uint64_t seed) {
  SCOPED_TRACE("VARVE_SEED=" + std::to_string(seed));
  Life(seed).live();
}

TEST(EngineHistory, TellsWhatAModelTells) {
  if (const char* seed = std::getenv("VARVE_SEED")) return live(std::strtoull(seed, nullptr, 10));
  std::cout << "seeds 1 to 30\n";
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    live(seed);
    if (HasFatalFailure()) return;
  }
}

// --- Single things ---------------------------------------------------------------------

class EngineHistoryCase : public testing::Test {
 protected:
  void open(std::uint64_t stretch_ticks = 10) {
    engine_.reset();
    engine_ = open_storage(disk_, "journal", config_,
                           {.background = false, .seed = 3, .stretch_ticks = stretch_ticks})
                  .value();
  }
  // Entity 1 is there from tick 1 on, and knows every fifth tick; the others are changed in each.
  void commit_through(std::uint64_t last) {
    for (std::uint64_t tick = engine_->latest_tick().value_or(0) + 1; tick <= last; ++tick) {
      TickRecorder recorder;
      const Bytes text = Bytes::copy_of(std::to_string(tick));
      for (EntityId entity = 1; entity <= 40; ++entity) {
        if (tick == 1) recorder.spawn(entity);
        if (entity != 1 || tick % 5 == 0) recorder.insert(entity, kWholeEntity, text);
      }
      ASSERT_TRUE(engine_->commit_tick(tick, recorder.take()));
    }
  }
  std::size_t segment_count() { return disk_.list("journal/log").value().size(); }

  sim::SimDisk disk_;
  StorageConfig config_{.wal_segment_size = 8192,
                        .snapshot_policy = {.kind = SnapshotPolicy::Kind::manual},
                        .sync_mode = {.kind = Durability::Kind::every_commit}};
  std::unique_ptr<StorageEngine> engine_;
};

TEST_F(EngineHistoryCase, NothingIsToldOfWhatHasNotComeOrIsGone) {
  open();
  EXPECT_EQ(engine_->at_tick(0).error().code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(engine_->entity_history(1, 0, {}).value().empty());
  const auto always = [](const HistoricalState&) -> Result<bool> { return true; };
  EXPECT_EQ(engine_->find_tick({}, always).value(), std::nullopt);
  commit_through(300);
  EXPECT_EQ(engine_->find_tick({}, always).value(), 1u) << "before it there was nothing";
  EXPECT_EQ(engine_->at_tick(301).error().code(), ErrorCode::invalid_argument);
  ASSERT_TRUE(engine_->create_snapshot());
  commit_through(400);
  const auto early = engine_->at_tick(150).value();
  ASSERT_EQ(text_of(early->component(1, kWholeEntity)), "150");
  const auto unread = engine_->at_tick(151).value();
  ASSERT_TRUE(engine_->truncate_before(350));
  ASSERT_EQ(engine_->oldest_tick(), 300u);
  for (const auto& error : {engine_->at_tick(299).error(), engine_->recover(299).error(),
                            engine_->entity_history(1, 0, {300, 320}).error(),
                            engine_->find_tick({299, 320}, always).error(),
                            unread->component(1, kWholeEntity).error(), unread->state().error()}) {
    EXPECT_EQ(error.code(), ErrorCode::not_found) << error.message();
  }
  EXPECT_EQ(engine_->entity_history(1, 0, {301, 320}).value().size(), 3u);
  EXPECT_EQ(engine_->find_tick({300, 320}, always).value(), 300u);
  EXPECT_EQ(text_of(engine_->at_tick(300).value()->component(1, kWholeEntity)), "300");
}

TEST_F(EngineHistoryCase, WhatIsAskedForIsDecodedAndNoMore) {
  open();
  commit_through(200);
  ASSERT_TRUE(engine_->create_snapshot());
  commit_through(403);
  const std::uint64_t before = engine_->decoded_count();
  const auto history = engine_->entity_history(1, kWholeEntity, {1, 400}).value();
  EXPECT_EQ(history.size(), 79u);
  // Tick 1 speaks of it too.
  EXPECT_EQ(engine_->decoded_count() - before, 80u);
  const auto past = engine_->at_tick(399).value();
  EXPECT_EQ(engine_->decoded_count() - before, 80u) << "nobody has asked for anything";
  EXPECT_EQ(text_of(past->component(1, kWholeEntity)), "395");
  EXPECT_EQ(engine_->decoded_count() - before, 81u);
  EXPECT_EQ(text_of(past->component(99, kWholeEntity)), std::nullopt);
  EXPECT_EQ(engine_->decoded_count() - before, 81u);
  ASSERT_TRUE(past->find(1));
  EXPECT_EQ(engine_->decoded_count() - before, 81u + 199);
  EXPECT_EQ(text_of(past->component(2, kWholeEntity)), "399");
  EXPECT_EQ(engine_->decoded_count() - before, 81u + 199) << "it is all there";
}

TEST_F(EngineHistoryCase, APredicateMayFailOrThrow) {
  open();
  commit_through(30);
  EXPECT_EQ(engine_
                ->find_tick(
                    {}, [](const HistoricalState&) -> Result<bool> { return cancelled("enough"); })
                .error()
                .code(),
            ErrorCode::cancelled);
  EXPECT_EQ(engine_->find_tick({}, [](const HistoricalState&) -> Result<bool> { throw 1; })
                .error()
                .code(),
            ErrorCode::invalid_argument);
}

// The log is set aside with what was indexed of it; what comes now is indexed anew.
TEST_F(EngineHistoryCase, WhatIsSetAsideIsForgotten) {
  open();
  commit_through(95);
  ASSERT_TRUE(engine_->create_snapshot());
  commit_through(200);
  engine_.reset();
  // In the midst of the log, behind the snapshot.
  const std::vector<DirEntry> entries = disk_.list("journal/log").value();
  std::vector<std::string> segments;
  for (const DirEntry& entry : entries) {
    if (entry.name.ends_with(".wal")) segments.push_back("journal/log/" + entry.name);
  }
  std::sort(segments.begin(), segments.end());
  ASSERT_GE(segments.size(), 4u);
  auto file = disk_.open(segments[segments.size() - 2], OpenMode::write).value();
  ASSERT_TRUE(file->write_at(2'000, as_byte_view(std::string(64, '!'))));
  config_.accept_damage = true;
  open();
  const std::uint64_t last = engine_->latest_tick().value();
  ASSERT_LT(last, 200u);
  ASSERT_GT(last, 95u);
  for (std::uint64_t tick = last + 1; tick <= 260; ++tick) {
    TickRecorder recorder;
    if (tick == 190) recorder.insert(1, kWholeEntity, Bytes::copy_of("anew"));
    ASSERT_TRUE(engine_->commit_tick(tick, recorder.take()));
  }
  const std::vector<ComponentChange> expected = {{190, Bytes::copy_of("anew")}};
  EXPECT_EQ(engine_->entity_history(1, kWholeEntity, {last + 1, 261}).value(), expected);
  open();
  EXPECT_EQ(engine_->entity_history(1, kWholeEntity, {last + 1, 261}).value(), expected);
  EXPECT_EQ(text_of(engine_->at_tick(195).value()->component(1, kWholeEntity)), "anew");
}

// With its threads and a real disk, history going while somebody looks at it.
TEST(EngineHistory, IsToldBesideTheGame) {
  ScratchDir dir;
  StorageConfig config;
  config.wal_segment_size = 16384;
  config.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 7};
  config.sync_mode = {.kind = Durability::Kind::every_ms, .interval_ms = 5};
  config.history_ticks = 60;
  auto engine =
      open_storage(posix_vfs(), dir.file("journal"), config, {.stretch_ticks = 16}).value();
  constexpr std::uint64_t kTickCount = 400;
  std::atomic<std::uint64_t> latest = 0;
  std::atomic<std::uint64_t> told_count = 0;
  const auto look = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::uint64_t seen = 0; seen < kTickCount;) {
      seen = latest;
      if (seen == 0) continue;
      const std::uint64_t wanted = random() % seen + 1;
      const auto past = engine->at_tick(wanted);
      const auto value = past ? (*past)->component(1, kWholeEntity) : past.error();
      if (!value) {
        ASSERT_EQ(value.error().code(), ErrorCode::not_found) << value.error().message();
        continue;
      }
      EXPECT_EQ(text_of(value), std::to_string(wanted - wanted % 3));
      ++told_count;
      const auto changes = engine->entity_history(1, kWholeEntity, {wanted, wanted + 10});
      if (!changes) {
        ASSERT_EQ(changes.error().code(), ErrorCode::not_found) << changes.error().message();
        continue;
      }
      for (const ComponentChange& change : *changes)
        EXPECT_EQ(change.value->text(), std::to_string(change.tick));
    }
  };
  std::thread first([&] { look(1); });
  std::thread second([&] { look(2); });
  for (std::uint64_t tick = 1; tick <= kTickCount; ++tick) {
    TickRecorder recorder;
    if (tick == 1) {
      recorder.spawn(1);
      recorder.spawn(2);
      recorder.insert(1, kWholeEntity, Bytes::copy_of("0"));
    }
    if (tick % 3 == 0) recorder.insert(1, kWholeEntity, Bytes::copy_of(std::to_string(tick)));
    recorder.insert(2, kWholeEntity, Bytes::copy_of(std::string(200, 'x')));
    ASSERT_TRUE(engine->commit_tick(tick, recorder.take()));
    latest = tick;
  }
  first.join();
  second.join();
  EXPECT_GT(told_count, 0u);
  EXPECT_EQ(engine->snapshot_problem(), std::nullopt);
  ASSERT_TRUE(engine->close());
}

}  // namespace
}  // namespace varve::test
