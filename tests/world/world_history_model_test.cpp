// Random games with a journal against a model that remembers every tick.
//
// Invariants checked:
// 1. Whatever is saved, evicted, dropped and opened again meanwhile, every record at every tick of
//    the history is what it was.
// 2. A rollback makes the world what it was at that tick, and a rollback of that one undoes it.
// 3. A record's history is the ticks at which it changed, and nothing else.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/scratch_dir.h"
#include "varve/world.h"

namespace varve::test {
namespace {

constexpr int kPlaceCount = 5;
constexpr std::size_t kChunkSize = 8;

struct Model {
  std::map<int, std::string> chunks;
  std::map<EntityId, std::pair<int, std::string>> entities;  // place, or -1 for nowhere; data
  std::map<std::string, std::string> players;
  std::map<std::string, std::string> globals;

  friend bool operator==(const Model&, const Model&) = default;
};

ChunkPos at(int place) { return ChunkPos(place, -place); }
std::optional<ChunkPos> owner(int place) {
  return place < 0 ? std::nullopt : std::optional(at(place));
}
Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }
std::string text_of(ByteView view) { return std::string(as_text(view)); }

class Game {
 public:
  explicit Game(std::uint64_t seed) : random_(seed), seed_(seed) {
    open();
    past_.push_back(now_);
  }

  void play(int act_count) {
    for (int i = 0; i < act_count && !testing::Test::HasFatalFailure(); ++i) act();
    end_tick();
  }

  void check_past() {
    auto history = world_->history();
    ASSERT_TRUE(history) << history.error().message();
    ASSERT_EQ((*history)->latest_tick(), last_change_);
    for (int i = 0; i < 25; ++i) {
      const std::uint64_t tick =
          (*history)->oldest_tick() +
          random_() % ((*history)->latest_tick() - (*history)->oldest_tick() + 1);
      const auto past = (*history)->at_tick(tick);
      ASSERT_TRUE(past) << past.error().message();
      ASSERT_NO_FATAL_FAILURE(expect_equal(**past, past_[tick]))
          << "seed " << seed_ << ", tick " << tick;
    }
    for (int place = 0; place < kPlaceCount; ++place) check_chunk_history(**history, place);
  }

  void check_rollback() {
    const std::uint64_t from = world_->current_tick();
    auto history = world_->history();
    ASSERT_TRUE(history);
    const std::uint64_t to =
        (*history)->oldest_tick() +
        random_() % ((*history)->latest_tick() - (*history)->oldest_tick() + 1);
    roll_back(**history, to);
    ASSERT_EQ(now_, past_[to]) << "seed " << seed_ << ", back to " << to;
    history = world_->history();
    ASSERT_TRUE(history);
    roll_back(**history, std::min(from, (*history)->latest_tick()));
    ASSERT_EQ(now_, past_[from]) << "seed " << seed_ << ", and forth to " << from;
  }

 private:
  void open() {
    WorldOptions options;
    options.autosave = AutosaveConfig{.enabled = false, .max_backups = 0};
    options.timed_saves = {.players_s = 0};
    options.journal = JournalConfig{.sync_mode = {.kind = Durability::Kind::none},
                                    .segment_size = 16 << 10,
                                    .history_ticks = 60,
                                    .stretch_ticks = 8};
    auto opened = World::open_or_create(dir_.file("arena"), options);
    ASSERT_TRUE(opened) << "seed " << seed_ << ": " << opened.error().message();
    world_ = *std::move(opened);
  }

  void end_tick() {
    const bool is_new = !(now_ == past_.back());
    const std::uint64_t tick = world_->tick();
    ASSERT_EQ(tick, past_.size());
    if (is_new) last_change_ = tick;
    past_.push_back(now_);
  }

  void act() {
    const int place = static_cast<int>(random_() % kPlaceCount);
    const std::string value(1, static_cast<char>('a' + random_() % 26));
    const EntityId entity = 1 + random_() % 4;
    const std::string name(1, static_cast<char>('x' + random_() % 3));
    switch (random_() % 16) {
      case 0:
      case 1:
        ASSERT_TRUE(world_->put(
            at(place), std::make_unique<RawChunk>(bytes(std::string(kChunkSize, value[0])))));
        now_.chunks[place] = std::string(kChunkSize, value[0]);
        break;
      case 2:
      case 3:
      case 4: {
        if (!now_.chunks.contains(place)) break;
        const auto cell = static_cast<std::uint32_t>(random_() % kChunkSize);
        ASSERT_TRUE(world_->load_now(at(place)));
        ASSERT_TRUE(world_->edit(at(place), RawChunk::edit_of(cell, bytes(value))));
        now_.chunks[place][cell] = value[0];
        break;
      }
      case 5: {
        if (!now_.chunks.contains(place)) break;
        const auto cell = random_() % kChunkSize;
        ASSERT_TRUE(world_->load_now(at(place)));
        ASSERT_TRUE(world_->edit<RawChunk>(at(place), [&](RawChunk& chunk) {
          ASSERT_TRUE(chunk.set(cell, bytes(value)));
          ASSERT_TRUE(chunk.set((cell + 3) % kChunkSize, bytes(value)));
        }));
        now_.chunks[place][cell] = now_.chunks[place][(cell + 3) % kChunkSize] = value[0];
        break;
      }
      case 6:
        ASSERT_TRUE(world_->erase(at(place)));
        now_.chunks.erase(place);
        break;
      case 7:
      case 8: {
        const int where = static_cast<int>(random_() % (kPlaceCount + 1)) - 1;
        ASSERT_TRUE(
            world_->put_entity({.id = entity, .owner = owner(where), .data = bytes(value)}));
        now_.entities[entity] = {where, value};
        break;
      }
      case 9:
        ASSERT_TRUE(world_->erase_entity(entity));
        now_.entities.erase(entity);
        break;
      case 10:
        ASSERT_TRUE(world_->put_player(name, bytes(value)));
        now_.players[name] = value;
        break;
      case 11:
        ASSERT_TRUE(random_() % 2 == 0 ? world_->put_global(name, bytes(value))
                                       : world_->erase_player(name));
        // One of both; the model is told which by what the world now has.
        sync_named(name);
        break;
      case 12:
        world_->evict(at(place));
        world_->update(0.1);
        break;
      case 13:
        if (random_() % 3 == 0) {
          end_tick();
          ASSERT_TRUE(world_->save().wait());
        }
        break;
      case 14:
        if (random_() % 8 == 0) {
          end_tick();
          // As a crash of the game would, but that the log is closed.
          world_.reset();
          ASSERT_NO_FATAL_FAILURE(open());
          // Ticks that changed nothing are gone.
          ASSERT_GE(world_->current_tick(), last_change_);
          past_.resize(world_->current_tick() + 1);
          ASSERT_EQ(past_.back(), now_);
        }
        break;
      default:
        end_tick();
    }
  }

  void sync_named(const std::string& name) {
    const auto player = world_->load_player(name);
    ASSERT_TRUE(player);
    if (*player) {
      now_.players[name] = (*player)->text();
    } else {
      now_.players.erase(name);
    }
    const auto global = world_->load_global(name);
    ASSERT_TRUE(global);
    if (*global) now_.globals[name] = (*global)->text();
  }

  void roll_back(const WorldHistory& history, std::uint64_t tick) {
    const auto plan = history.plan_rollback({.tick = tick});
    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_TRUE(plan->problems.empty());
    const auto done = world_->roll_back(*plan);
    ASSERT_TRUE(done) << done.error().message();
    now_ = in_memory();
    if (!plan->empty()) last_change_ = *done;
    past_.resize(*done, past_.back());
    past_.push_back(now_);
  }

  Model in_memory() {
    Model found;
    for (int place = 0; place < kPlaceCount; ++place) {
      if (const auto chunk = world_->load_now(at(place)); chunk) {
        found.chunks[place] = text_of(chunk->as<RawChunk>().view());
      }
    }
    for (EntityId id = 1; id <= 4; ++id) {
      if (const auto entity = world_->load_entity(id).value()) {
        found.entities[id] = {entity->owner ? (*entity->owner)[0] : -1, text_of(entity->data)};
      }
    }
    for (const char* name : {"x", "y", "z"}) {
      if (const auto player = world_->load_player(name).value()) {
        found.players[name] = player->text();
      }
      if (const auto global = world_->load_global(name).value()) {
        found.globals[name] = global->text();
      }
    }
    return found;
  }

  static void expect_equal(const PastWorld& past, const Model& model) {
    Model found;
    for (int place = 0; place < kPlaceCount; ++place) {
      const auto chunk = past.chunk(at(place));
      ASSERT_TRUE(chunk) << chunk.error().message();
      if (*chunk) found.chunks[place] = (*chunk)->text();
      const auto inside = past.entities_in({.min = at(place), .max = at(place)});
      ASSERT_TRUE(inside) << inside.error().message();
      for (const Entity& entity : *inside) {
        ASSERT_EQ(entity.owner, at(place));
        found.entities[entity.id] = {place, text_of(entity.data)};
      }
    }
    ASSERT_TRUE(past.for_each_entity([&](const Entity& entity) {
      if (!entity.owner) found.entities[entity.id] = {-1, text_of(entity.data)};
      return true;
    }));
    for (const char* name : {"x", "y", "z"}) {
      const auto player = past.player(name);
      ASSERT_TRUE(player) << player.error().message();
      if (*player) found.players[name] = (*player)->text();
      const auto global = past.global(name);
      ASSERT_TRUE(global) << global.error().message();
      if (*global) found.globals[name] = (*global)->text();
    }
    ASSERT_EQ(found.chunks, model.chunks);
    ASSERT_EQ(found.entities, model.entities);
    ASSERT_EQ(found.players, model.players);
    ASSERT_EQ(found.globals, model.globals);
  }

  void check_chunk_history(const WorldHistory& history, int place) {
    const auto events = history.chunk_history(at(place), {.from = history.oldest_tick() + 1});
    ASSERT_TRUE(events) << events.error().message();
    std::map<std::uint64_t, int> told;
    for (const ChunkEvent& event : *events) ++told[event.tick];
    for (std::uint64_t tick = history.oldest_tick() + 1; tick < past_.size(); ++tick) {
      const auto before = past_[tick - 1].chunks.find(place);
      const auto after = past_[tick].chunks.find(place);
      const bool was = before != past_[tick - 1].chunks.end();
      const bool is = after != past_[tick].chunks.end();
      const bool changed = was != is || (was && before->second != after->second);
      if (changed) {
        ASSERT_TRUE(told.contains(tick)) << "seed " << seed_ << ", tick " << tick;
      }
    }
  }

  const ScratchDir dir_;
  std::mt19937_64 random_;
  const std::uint64_t seed_;
  std::unique_ptr<World> world_;
  Model now_;
  std::vector<Model> past_;  // by tick
  std::uint64_t last_change_ = 0;
};

TEST(WorldHistoryModel, EveryTickIsWhatItWas) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    Game game(seed);
    ASSERT_NO_FATAL_FAILURE(game.play(500)) << "seed " << seed;
    ASSERT_NO_FATAL_FAILURE(game.check_past()) << "seed " << seed;
  }
}

TEST(WorldHistoryModel, ARollbackAndItsRollback) {
  for (std::uint64_t seed = 101; seed <= 116; ++seed) {
    Game game(seed);
    ASSERT_NO_FATAL_FAILURE(game.play(250)) << "seed " << seed;
    ASSERT_NO_FATAL_FAILURE(game.check_rollback()) << "seed " << seed;
    ASSERT_NO_FATAL_FAILURE(game.check_past()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace varve::test
