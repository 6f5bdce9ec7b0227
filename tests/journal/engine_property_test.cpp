// Random worlds against a model: whatever was committed, dropped and opened again, every tick of
// the history is what it was, by digest. The seeds are printed; VARVE_SEED replays one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "io/sim/sim_disk.h"
#include "journal/engine.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

using journal::open_storage;

class Player {
 public:
  explicit Player(std::uint64_t seed) : random_(seed) {}

  TickMutations tick(const EntityState& before, const std::vector<ComponentId>& components) {
    TickRecorder recorder;
    // As the recorder's user sees it: the entities there are, and those this tick brings.
    EntityState state = before;
    std::vector<EntityId> alive;
    state.for_each([&](const EntityView& view) {
      alive.push_back(view.entity);
      return true;
    });
    for (std::uint64_t n = below(12); n > 0; --n) {
      const std::uint64_t what = below(10);
      if (what < 2 || alive.empty()) {
        const EntityId entity = spawn(state, recorder);
        alive.push_back(entity);
      } else {
        const std::size_t at = below(alive.size());
        const EntityId entity = alive[at];
        const ComponentId component = components[below(components.size())];
        if (what == 2) {
          recorder.despawn(entity);
          TickRecorder one;
          one.despawn(entity);
          EXPECT_TRUE(state.apply(one.take()));
          alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (what == 3) {
          recorder.remove(entity, component);
        } else if (what == 4) {
          recorder.move(entity, chunk());
        } else {
          recorder.insert(entity, component, bytes());
        }
      }
    }
    if (below(3) == 0) recorder.set_singleton(components[below(components.size())], maybe_bytes());
    if (below(3) == 0) recorder.put_player("player " + std::to_string(below(4)), maybe_bytes());
    if (below(3) == 0) recorder.put_global("global " + std::to_string(below(4)), maybe_bytes());
    return recorder.take();
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

 private:
  EntityId spawn(EntityState& state, TickRecorder& recorder) {
    const EntityId entity = state.next_entity().value();
    TickRecorder one;
    const auto where = chunk();
    for (TickRecorder* each : {&one, &recorder}) each->spawn(entity, where);
    EXPECT_TRUE(state.apply(one.take()));
    return entity;
  }
  std::optional<ChunkPos> chunk() {
    if (below(5) == 0) return std::nullopt;
    return ChunkPos(static_cast<std::int32_t>(below(4)) - 2, static_cast<std::int32_t>(below(3)));
  }
  Bytes bytes() {
    std::string text(below(40), '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return Bytes::copy_of(text);
  }
  std::optional<Bytes> maybe_bytes() {
    if (below(4) == 0) return std::nullopt;
    return bytes();
  }

  std::mt19937_64 random_;
};

StorageConfig config_of(Player& player) {
  StorageConfig config;
  config.wal_segment_size = 4096;
  config.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks,
                            .ticks = player.below(20) + 3};
  config.sync_mode = {.kind = Durability::Kind::every_n,
                      .count = static_cast<std::uint32_t>(player.below(4) + 1)};
  config.compression = static_cast<LogCompression>(player.below(3));
  config.history_ticks = player.below(60) + 10;
  return config;
}

void live(std::uint64_t seed) {
  SCOPED_TRACE("VARVE_SEED=" + std::to_string(seed));
  Player player(seed);
  sim::SimDisk disk;
  const StorageConfig config = config_of(player);
  std::map<std::uint64_t, std::uint64_t> digests;
  std::uint64_t tick = 0;
  for (int life = 0; life < 4; ++life) {
    auto opened = open_storage(disk, "journal", config, {.background = false, .seed = seed + 1});
    ASSERT_TRUE(opened) << opened.error().message();
    StorageEngine& engine = **opened;
    ASSERT_TRUE(engine.report().problems.empty()) << engine.report().problems.front().message();
    std::vector<ComponentId> components;
    for (const char* name : {"position", "health", "name"}) {
      components.push_back(engine.register_component(name).value());
    }
    // Nothing crashed the disk: even what was not synced is there.
    ASSERT_EQ(engine.latest_tick().value_or(0), tick);
    for (std::uint64_t n = player.below(40) + 5; n > 0; --n) {
      tick += player.below(6) == 0 ? player.below(5) + 1 : 1;
      const Status committed = engine.commit_tick(tick, player.tick(engine.state(), components));
      ASSERT_TRUE(committed) << committed.error().message();
      digests[tick] = engine.state().digest();
    }
    const std::uint64_t oldest = engine.oldest_tick().value();
    ASSERT_LE(oldest, digests.begin()->first + tick);
    for (std::uint64_t at = oldest; at <= tick; ++at) {
      const auto state = engine.recover(at);
      ASSERT_TRUE(state) << at << ": " << state.error().message();
      ASSERT_EQ(state->digest(), std::prev(digests.upper_bound(at))->second) << "tick " << at;
    }
    if (player.below(2) == 0) {
      ASSERT_TRUE(engine.close());
    }
  }
}

TEST(EngineProperty, EveryTickIsWhatItWas) {
  if (const char* seed = std::getenv("VARVE_SEED")) return live(std::strtoull(seed, nullptr, 10));
  std::cout << "seeds 1 to 60\n";
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    live(seed);
    if (HasFatalFailure()) return;
  }
}

// With its threads and a real disk: snapshots in the background, ticks recovered beside the game.
TEST(EngineProperty, RecoversBesideTheGame) {
  ScratchDir dir;
  StorageConfig config;
  config.wal_segment_size = 16384;
  config.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 7};
  config.sync_mode = {.kind = Durability::Kind::every_ms, .interval_ms = 5};
  // Short, so that history goes while somebody looks at it.
  config.history_ticks = 60;
  auto opened = StorageEngine::open(dir.file("journal"), config);
  ASSERT_TRUE(opened) << opened.error().message();
  StorageEngine& engine = **opened;
  const std::vector<ComponentId> components{engine.register_component("position").value()};
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> digests;
  std::atomic<std::uint64_t> latest = 0;
  std::atomic<std::uint64_t> recovered_count = 0;
  std::thread reader([&] {
    std::mt19937_64 random(4);
    for (std::uint64_t seen = 0; seen < 400;) {
      seen = latest;
      if (seen == 0) continue;
      const std::uint64_t wanted = random() % seen + 1;
      const auto state = engine.recover(wanted);
      if (!state) {
        ASSERT_EQ(state.error().code(), ErrorCode::not_found) << state.error().message();
        continue;
      }
      ++recovered_count;
      const std::lock_guard lock(mutex);
      EXPECT_EQ(state->digest(), digests[wanted]) << "tick " << wanted;
    }
  });
  Player player(9);
  for (std::uint64_t tick = 1; tick <= 400; ++tick) {
    ASSERT_TRUE(engine.commit_tick(tick, player.tick(engine.state(), components)));
    const std::lock_guard lock(mutex);
    digests[tick] = engine.state().digest();
    latest = tick;
  }
  reader.join();
  EXPECT_GT(recovered_count, 0u);
  ASSERT_TRUE(engine.close());
  opened->reset();
  auto again = StorageEngine::open(dir.file("journal"), config);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ((*again)->state().digest(), digests[400]);
  EXPECT_EQ((*again)->snapshot_problem(), std::nullopt);
}

}  // namespace
}  // namespace varve::test
