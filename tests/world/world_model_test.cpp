// Random games against a model that is a few maps.
//
// Invariants checked:
// 1. Whatever is loaded, evicted, saved or fails meanwhile, a read gives what was written
//    last, erasures included.
// 2. After a save that succeeded, a crash loses nothing.
// 3. Once everything is stored nothing counts as dirty, and memory figures add up.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

enum class Act : std::uint8_t {
  edit,
  put,
  erase,
  evict,
  request,
  move_window,
  remove_window,
  save,
  save_and_wait,
  save_to,
  update,
  let_time_pass,
  fail_commits,
  mend_commits,
  write_through_on,
  write_through_off,
  budget,
  put_entity,
  erase_entity,
  put_player,
  erase_player,
  player_left,
  crash,
  kCount,
};

struct Step {
  Act act = Act::update;
  int where = 0;
  int value = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << static_cast<int>(step.act) << '(' << step.where << ',' << step.value << ')';
}

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(rc::gen::set(&Step::act, rc::gen::cast<Act>(rc::gen::inRange(
                                                           0, static_cast<int>(Act::kCount)))),
                              rc::gen::set(&Step::where, rc::gen::inRange(0, 6)),
                              rc::gen::set(&Step::value, rc::gen::inRange(0, 250)));
}

constexpr int kPlaceCount = 6;

struct Game {
  struct Records {
    std::map<int, int> cells;  // what is not there is the generator's 7
    std::map<EntityId, Entity> entities;
    std::map<std::string, Bytes> players;
  };

  Game() : flat(options()) {}

  static WorldOptions options() {
    WorldOptions options = quiet_options();
    options.load_thread_count = 2;
    return options;
  }
  static ChunkPos place(int where) { return ChunkPos(where); }

  void run(const Step& step) {
    World& world = *flat.world;
    const ChunkPos pos = place(step.where);
    const auto value = static_cast<std::uint8_t>(step.value);
    const EntityId entity = static_cast<EntityId>(step.value % 3);
    const std::string player(1, static_cast<char>('a' + step.where % 3));
    switch (step.act) {
      case Act::edit:
        RC_ASSERT(world.load_now(pos).has_value());
        RC_ASSERT(flat.set(pos, 0, value).has_value());
        now.cells[step.where] = value;
        break;
      case Act::put:
        RC_ASSERT(world.put(pos, flat_chunk(value)).has_value());
        now.cells[step.where] = value;
        break;
      case Act::erase:
        RC_ASSERT(world.erase(pos).has_value());
        now.cells.erase(step.where);
        break;
      case Act::evict:
        world.evict(pos);
        break;
      case Act::request:
        RC_ASSERT(world.request(pos, step.value).has_value());
        break;
      case Act::move_window:
        RC_ASSERT(world.set_window(step.value % 2, {.centre = pos, .radius = {1}, .keep_margin = 0})
                      .has_value());
        break;
      case Act::remove_window:
        world.remove_window(static_cast<std::uint64_t>(step.value % 2));
        break;
      case Act::save:
        (void)world.save();
        break;
      case Act::save_and_wait:
        (void)world.save().wait();
        break;
      case Act::save_to:
        (void)world.save_to(fresh_memory_path());
        break;
      case Act::update:
        for (int i = 0; i < step.where; ++i) {
          world.update(0);
          std::this_thread::yield();
        }
        break;
      case Act::let_time_pass:
        world.update(step.value);
        break;
      case Act::fail_commits:
        flat.control.before_commit([](const Commit&) -> Status { return io_error("no"); });
        break;
      case Act::mend_commits:
        flat.control.before_commit({});
        break;
      case Act::write_through_on:
        RC_ASSERT(
            world
                .set_write_through({.enabled = true,
                                    .async_save_queue_size = 2,
                                    .when_full = step.value % 2 == 0
                                                     ? WriteThroughConfig::WhenFull::wait
                                                     : WriteThroughConfig::WhenFull::leave_dirty})
                .has_value());
        break;
      case Act::write_through_off:
        RC_ASSERT(world.set_write_through({}).has_value());
        break;
      case Act::budget:
        world.set_memory_budget(step.value % 2 == 0 ? 0 : 2000);
        break;
      case Act::put_entity: {
        Entity put{.id = entity, .data = text(std::to_string(step.value))};
        if (step.value % 7 != 0) put.owner = pos;
        RC_ASSERT(world.put_entity(put).has_value());
        now.entities[entity] = put;
        break;
      }
      case Act::erase_entity:
        RC_ASSERT(world.erase_entity(entity).has_value());
        now.entities.erase(entity);
        break;
      case Act::put_player:
        RC_ASSERT(world.put_player(player, text(std::to_string(step.value))).has_value());
        now.players[player] = text(std::to_string(step.value));
        break;
      case Act::erase_player:
        RC_ASSERT(world.erase_player(player).has_value());
        now.players.erase(player);
        break;
      case Act::player_left:
        (void)world.player_left(player);
        break;
      case Act::crash:
        // Only right after a save is it known what a crash leaves.
        flat.control.before_commit({});
        RC_ASSERT(world.save().wait().has_value());
        flat.crash_and_reopen();
        break;
      case Act::kCount:
        break;
    }
  }

  // A read of one place, so that the next step finds the others as they were.
  void check_one(int where) {
    World& world = *flat.world;
    if (const ChunkRef here = world.get(place(where)))
      RC_ASSERT(static_cast<int>(here.as<RawChunk>().view()[0]) == cell(where));
    const auto id = static_cast<EntityId>(where % 3);
    if (const auto entity = world.entity(id)) RC_ASSERT(*entity == now.entities.at(id));
    const std::string player(1, static_cast<char>('a' + where % 3));
    if (const auto data = world.player(player)) RC_ASSERT(*data == now.players.at(player));
    if (world.state(place(where)) != ChunkState::absent &&
        world.state(place(where)) != ChunkState::loading)
      return;
    RC_ASSERT(flat.at(place(where), 0) == cell(where));
    RC_ASSERT(entities_of(where) == world.entities_in(place(where)));
  }

  void check_everything() {
    World& world = *flat.world;
    for (int where = 0; where < kPlaceCount; ++where) {
      RC_ASSERT(flat.at(place(where), 0) == cell(where));
      // A chunk the game put need not have brought its stored entities.
      const std::vector<Entity> expected = entities_of(where);
      for (const Entity& entity : world.entities_in(place(where)))
        RC_ASSERT(std::find(expected.begin(), expected.end(), entity) != expected.end());
    }
    for (EntityId id = 0; id < 3; ++id) {
      const auto loaded = world.load_entity(id);
      RC_ASSERT(loaded.has_value());
      const auto known = now.entities.find(id);
      RC_ASSERT(*loaded == (known == now.entities.end() ? std::nullopt
                                                        : std::optional<Entity>(known->second)));
    }
    for (const char* player : {"a", "b", "c"}) {
      const auto loaded = world.load_player(player);
      RC_ASSERT(loaded.has_value());
      const auto known = now.players.find(player);
      RC_ASSERT(*loaded ==
                (known == now.players.end() ? std::nullopt : std::optional<Bytes>(known->second)));
    }
  }

  int cell(int where) const {
    const auto known = now.cells.find(where);
    return known == now.cells.end() ? 7 : known->second;
  }

  std::vector<Entity> entities_of(int where) const {
    std::vector<Entity> found;
    for (const auto& [id, entity] : now.entities)
      if (entity.owner == place(where)) found.push_back(entity);
    return found;
  }

  FlatWorld flat;
  Records now;
};

RC_GTEST_PROP(WorldModel, ReadsGiveWhatWasWrittenLastAndACrashLosesNothingSaved, ()) {
  Game game;
  const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
  for (const Step& step : steps) {
    game.run(step);
    game.check_one(step.where);
  }
  game.check_everything();
  game.flat.control.before_commit({});
  RC_ASSERT(game.flat.world->save().wait().has_value());
  const Telemetry last = game.flat.world->telemetry();
  RC_ASSERT(last.dirty_record_count == 0U);
  RC_ASSERT(last.dirty_chunk_count == 0U);
  RC_ASSERT((last.resident_size == 0) == (last.resident_chunk_count == 0));
  game.check_everything();
  game.flat.crash_and_reopen();
  game.check_everything();
}

}  // namespace
}  // namespace varve::test
