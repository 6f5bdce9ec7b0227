// Entities, players and globals, and the saves that are only about them.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(50, 50);

Entity cow_in(const ChunkPos& pos) { return {.id = 5, .owner = pos, .data = text("cow")}; }

// Players and globals promise the same; each test runs for both.
struct Named {
  Status (World::*put)(std::string_view, Bytes);
  Status (World::*erase)(std::string_view);
  std::optional<Bytes> (World::*find)(std::string_view);
  Result<std::optional<Bytes>> (World::*load)(std::string_view);
  Result<std::optional<Bytes>> (StoreView::*read)(std::string_view) const;
};
constexpr Named kKinds[] = {
    {&World::put_player, &World::erase_player, &World::player, &World::load_player,
     &StoreView::read_player},
    {&World::put_global, &World::erase_global, &World::global, &World::load_global,
     &StoreView::read_global},
};

// --- Players and globals -----------------------------------------------------------------

TEST(WorldNamedRecords, ArePutLoadedAndErased) {
  for (const Named& kind : kKinds) {
    FlatWorld flat(quiet_options());
    World* world = flat.world.get();
    EXPECT_EQ((world->*kind.find)("p"), std::nullopt);
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt);
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    EXPECT_EQ((world->*kind.find)("p"), text("1"));
    ASSERT_TRUE(world->save().wait());
    flat.crash_and_reopen();
    world = flat.world.get();
    EXPECT_EQ((world->*kind.find)("p"), std::nullopt) << "memory only";
    EXPECT_EQ(*(world->*kind.load)("p"), text("1"));
    EXPECT_EQ((world->*kind.find)("p"), text("1")) << "a load keeps it";
    EXPECT_EQ(world->telemetry().dirty_record_count, 0U);
    ASSERT_TRUE((world->*kind.erase)("p"));
    EXPECT_EQ((world->*kind.find)("p"), std::nullopt);
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt) << "the store still has it";
    ASSERT_TRUE(world->save().wait());
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt);
    flat.crash_and_reopen();
    EXPECT_EQ(*(flat.world.get()->*kind.load)("p"), std::nullopt);
  }
}

TEST(WorldNamedRecords, ErasuresInFlightAreRead) {
  for (const Named& kind : kKinds) {
    Gate gate;
    FlatWorld flat(quiet_options());
    const GateOpener opener(gate);
    World* world = flat.world.get();
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    ASSERT_TRUE(world->save().wait());
    ASSERT_TRUE((world->*kind.erase)("p"));
    flat.control.before_commit([&](const Commit&) {
      gate.pass();
      return Status();
    });
    SaveHandle save = world->save();
    gate.wait_for_arrivals(1);
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt);
    ASSERT_TRUE((world->*kind.put)("p", text("2"))) << "back before it is gone";
    gate.open();
    ASSERT_TRUE(save.wait());
    world->update(0);
    EXPECT_EQ((world->*kind.find)("p"), text("2"));
    EXPECT_EQ(*(world->store().*kind.read)("p"), std::nullopt);
    ASSERT_TRUE(world->save().wait());
    EXPECT_EQ(*(world->store().*kind.read)("p"), text("2"));
  }
}

TEST(WorldNamedRecords, APutOfTheSameStaysClean) {
  for (const Named& kind : kKinds) {
    FlatWorld flat(quiet_options());
    World* world = flat.world.get();
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    ASSERT_TRUE(world->save().wait());
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    EXPECT_EQ(world->telemetry().dirty_record_count, 0U);
    ASSERT_TRUE((world->*kind.put)("p", {}));
    EXPECT_EQ((world->*kind.find)("p"), Bytes()) << "empty is not missing";
    EXPECT_EQ(world->telemetry().dirty_record_count, 1U);
  }
}

TEST(WorldNamedRecords, TakeAnyNameThatIsOne) {
  const std::string longest(255, 'x');
  const std::string good[] = {"a.b",    " ",       "..",   ".", "/",
                              "a/../b", "\\",      "COM1", "*", "\xc3\xa9\xf0\x9f\x90\x84",
                              longest,  "player:x"};
  const std::string bad[] = {"", std::string("a\0b", 3), "a\nb", "\x7f", "\xff", longest + "x"};
  for (const Named& kind : kKinds) {
    FlatWorld flat(quiet_options());
    World* world = flat.world.get();
    for (const std::string& name : good) ASSERT_TRUE((world->*kind.put)(name, text(name))) << name;
    for (const std::string& name : bad) {
      const Status put = (world->*kind.put)(name, text("x"));
      ASSERT_FALSE(put) << name;
      EXPECT_EQ(put.error().code(), ErrorCode::invalid_argument);
      EXPECT_FALSE((world->*kind.erase)(name));
      EXPECT_FALSE((world->*kind.load)(name));
      EXPECT_EQ((world->*kind.find)(name), std::nullopt);
    }
    ASSERT_TRUE(world->save().wait());
    flat.crash_and_reopen();
    for (const std::string& name : good)
      EXPECT_EQ(*(flat.world.get()->*kind.load)(name), text(name)) << name;
  }
}

// --- Players who leave -------------------------------------------------------------------

TEST(WorldPlayerLeft, SavesThePlayerAndDropsIt) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.put_player("bob", text("2")));
  world.tick();
  SaveHandle left = world.player_left("ann");
  ASSERT_TRUE(left.wait());
  world.update(0);
  EXPECT_EQ(world.player("ann"), std::nullopt);
  EXPECT_EQ(*world.load_player("ann"), text("1"));
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
  EXPECT_EQ(*world.store().read_player("bob"), std::nullopt) << "only who left";
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  EXPECT_EQ(world.store().tick(), 0U);
  EXPECT_EQ(world.player("bob"), text("2"));
}

TEST(WorldPlayerLeft, OfACleanOrUnknownPlayerIsDoneAtOnce) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  EXPECT_TRUE(world.player_left("nobody").is_stored());
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.save().wait());
  world.update(0);
  const std::uint64_t commits = flat.control.commit_count;
  EXPECT_TRUE(world.player_left("ann").is_stored());
  EXPECT_EQ(world.player("ann"), std::nullopt);
  EXPECT_EQ(flat.control.commit_count, commits);
  EXPECT_EQ(*world.load_player("ann"), text("1"));
}

TEST(WorldPlayerLeft, WhileASaveHasThePlayerEndsAfterIt) {
  Gate gate;
  FlatWorld flat(quiet_options());
  const GateOpener opener(gate);
  World& world = *flat.world;
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(world.put_player("ann", text("1")));
  SaveHandle save = world.save();
  gate.wait_for_arrivals(1);
  SaveHandle left = world.player_left("ann");
  EXPECT_FALSE(left.is_done());
  EXPECT_EQ(*world.load_player("ann"), text("1"));
  gate.open();
  ASSERT_TRUE(left.wait());
  EXPECT_TRUE(save.is_stored());
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

TEST(WorldPlayerLeft, AnErasedPlayerIsErasedThen) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.save().wait());
  ASSERT_TRUE(world.erase_player("ann"));
  ASSERT_TRUE(world.player_left("ann").wait());
  EXPECT_EQ(*world.store().read_player("ann"), std::nullopt);
  EXPECT_EQ(*world.load_player("ann"), std::nullopt);
}

TEST(WorldPlayerLeft, WhoComesBackBeforeItIsStoredStaysInMemory) {
  for (const bool by_put : {true, false}) {
    Gate gate;
    FlatWorld flat(quiet_options());
    const GateOpener opener(gate);
    World& world = *flat.world;
    flat.control.before_commit([&](const Commit&) {
      gate.pass();
      return Status();
    });
    ASSERT_TRUE(world.put_player("ann", text("1")));
    SaveHandle left = world.player_left("ann");
    gate.wait_for_arrivals(1);
    if (by_put) {
      ASSERT_TRUE(world.put_player("ann", text("2")));
    } else {
      ASSERT_EQ(*world.load_player("ann"), text("1"));
    }
    gate.open();
    ASSERT_TRUE(left.wait());
    ASSERT_TRUE(world.save().wait());
    world.update(0);
    EXPECT_EQ(world.player("ann"), text(by_put ? "2" : "1"));
  }
}

TEST(WorldPlayerLeft, AFailureLosesNothingAndIsTriedAgain) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("full"); });
  ASSERT_TRUE(world.put_player("ann", text("1")));
  const auto left = world.player_left("ann").wait();
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(*world.load_player("ann"), text("1"));
  flat.control.before_commit({});
  watch.update(6);
  watch.update_until([&] { return world.telemetry().dirty_record_count == 0; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

// --- Timed saves -------------------------------------------------------------------------

TEST(WorldTimedSaves, StorePlayersEveryMinuteIfAnyIsDirty) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.put_global("weather", text("rain")));
  world.tick();
  for (int second = 1; second < 60; ++second) watch.update(1);
  EXPECT_EQ(flat.control.commit_count, 0U);
  watch.update(1);
  watch.update_until([&] { return world.telemetry().commit_count == 1; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
  EXPECT_EQ(*world.store().read_global("weather"), std::nullopt);
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  EXPECT_EQ(world.store().tick(), 0U);
  EXPECT_EQ(world.player("ann"), text("1")) << "it stays in memory";
  for (int second = 0; second < 180; ++second) watch.update(1);
  EXPECT_EQ(flat.control.commit_count, 1U) << "nobody changed";
  ASSERT_TRUE(world.put_player("ann", text("2")));
  for (int second = 0; second < 61; ++second) watch.update(1);
  watch.update_until([&] { return world.telemetry().commit_count == 2; });
  EXPECT_EQ(*world.store().read_player("ann"), text("2"));
}

TEST(WorldTimedSaves, MayBeSetAndSwitchedOff) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  ASSERT_TRUE(world.set_timed_saves({.players_s = 0, .globals_s = 10}));
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.put_global("weather", text("rain")));
  watch.update(500);
  watch.update_until([&] { return world.telemetry().commit_count == 1; });
  EXPECT_EQ(*world.store().read_global("weather"), text("rain"));
  EXPECT_EQ(*world.store().read_player("ann"), std::nullopt);
  EXPECT_FALSE(world.set_timed_saves({.players_s = -1}));
  EXPECT_FALSE(world.set_timed_saves({.players_s = std::nan("")}));
}

TEST(WorldTimedSaves, StoreWhatACopyTook) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  ASSERT_TRUE(world.put_player("ann", text("1")));
  ASSERT_TRUE(world.save_to(fresh_memory_path()).wait());
  EXPECT_EQ(world.telemetry().dirty_record_count, 1U) << "a copy leaves it dirty";
  watch.update(61);
  watch.update_until([&] { return world.telemetry().dirty_record_count == 0; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

TEST(WorldTimedSaves, AFailureIsTriedAgainWithoutWaitingForTheNextMinute) {
  FlatWorld flat(quiet_options());
  StreamWatch watch(flat);
  World& world = *flat.world;
  flat.control.before_commit([](const Commit&) -> Status { return out_of_space("full"); });
  ASSERT_TRUE(world.put_player("ann", text("1")));
  watch.update(60);
  watch.update_until([&] { return world.telemetry().save_failure_count == 1; });
  flat.control.before_commit({});
  watch.update(6);
  watch.update_until([&] { return world.telemetry().dirty_record_count == 0; });
  EXPECT_EQ(*world.store().read_player("ann"), text("1"));
}

TEST(WorldTimedSaves, AreNotNeededToClose) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_player("ann", text("1")));
  ASSERT_TRUE(flat.world->close());
  flat.crash_and_reopen();
  EXPECT_EQ(*flat.world->load_player("ann"), text("1"));
}

// --- Entities ----------------------------------------------------------------------------

TEST(WorldEntities, StandInTheChunkTheyWerePutIn) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_TRUE(world.put_entity(cow_in(kHere)));
  ASSERT_TRUE(world.put_entity({.id = 3, .owner = kHere, .data = text("hen")}));
  ASSERT_TRUE(world.put_entity({.id = 9, .data = text("weather")}));
  const std::vector<Entity> here = world.entities_in(kHere);
  ASSERT_EQ(here.size(), 2U);
  EXPECT_EQ(here[0].id, 3U);
  EXPECT_EQ(here[1], cow_in(kHere));
  ASSERT_TRUE(world.put_entity(cow_in(kThere)));
  EXPECT_EQ(world.entities_in(kHere).size(), 1U);
  EXPECT_EQ(world.entities_in(kThere), std::vector<Entity>{cow_in(kThere)});
  ASSERT_TRUE(world.put_entity({.id = 5, .data = text("cow")}));
  EXPECT_TRUE(world.entities_in(kThere).empty());
  ASSERT_TRUE(world.save().wait());
  EXPECT_TRUE(world.store().read_entities_of(kThere)->empty());
  ASSERT_TRUE(world.erase_entity(3));
  EXPECT_TRUE(world.entities_in(kHere).empty());
  EXPECT_EQ(world.entity(3), std::nullopt);
  EXPECT_EQ(*world.load_entity(3), std::nullopt);
}

TEST(WorldEntities, SurviveInAChunkThatWasNeverLoaded) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  EXPECT_EQ(flat.world->state(kHere), ChunkState::absent);
  ASSERT_TRUE(flat.world->save().wait());
  flat.crash_and_reopen();
  EXPECT_TRUE(flat.world->entities_in(kHere).empty());
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_EQ(flat.world->entities_in(kHere), std::vector<Entity>{cow_in(kHere)});
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 0U);
}

TEST(WorldEntities, AreThereOnceHoweverTheyWereLoaded) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  ASSERT_TRUE(flat.world->save().wait());
  flat.crash_and_reopen();
  const auto loaded = flat.world->load_entity(5);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, cow_in(kHere));
  EXPECT_EQ(flat.world->entities_in(kHere).size(), 1U);
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_EQ(flat.world->entities_in(kHere).size(), 1U);
  // Moved while its chunk is not in memory: it is not found there afterwards.
  flat.world->evict(kHere);
  EXPECT_EQ(flat.world->entity(5), std::nullopt);
  ASSERT_TRUE(flat.world->put_entity(cow_in(kThere)));
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_TRUE(flat.world->entities_in(kHere).empty());
  EXPECT_EQ(flat.world->entities_in(kThere).size(), 1U);
}

TEST(WorldEntities, APutOfTheSameStaysClean) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.world->put_entity(cow_in(kHere)));
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 0U);
  ASSERT_TRUE(flat.world->put_entity(cow_in(kThere)));
  EXPECT_EQ(flat.world->telemetry().dirty_record_count, 1U);
}

TEST(WorldEntities, AnErasedOneMayComeBackInEveryPhase) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  for (const bool saved : {false, true}) {
    ASSERT_TRUE(world.put_entity(cow_in(kHere)));
    ASSERT_TRUE(world.save().wait());
    ASSERT_TRUE(world.erase_entity(5));
    if (saved) {
      ASSERT_TRUE(world.save().wait());
    }
    ASSERT_TRUE(world.put_entity(cow_in(kThere)));
    EXPECT_EQ(world.entities_in(kThere).size(), 1U);
    ASSERT_TRUE(world.save().wait());
    EXPECT_EQ(*world.store().read_entity(5), cow_in(kThere));
  }
}

TEST(WorldEntities, NewIdsNeverMeet) {
  FlatWorld flat(quiet_options());
  std::set<EntityId> ids;
  for (int session = 0; session < 5; ++session) {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(ids.insert(flat.world->new_entity_id()).second);
    flat.crash_and_reopen();
  }
}

// --- A world that is closed --------------------------------------------------------------

TEST(WorldClosed, RefusesEverythingPolitely) {
  FlatWorld flat(quiet_options());
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(world.request(kThere));
  ASSERT_TRUE(world.set_window(1, {.centre = kThere, .radius = {1, 1}}));
  ASSERT_TRUE(world.close());
  const auto is_refused = [](const auto& result) {
    return !result && result.error().code() == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(world.close()) << "once more is fine";
  EXPECT_TRUE(is_refused(flat.set(kHere, 0, 10)));
  EXPECT_TRUE(is_refused(world.edit<RawChunk>(kHere, [](RawChunk&) {})));
  EXPECT_TRUE(is_refused(world.put(kHere, flat_chunk(1))));
  EXPECT_TRUE(is_refused(world.erase(kHere)));
  EXPECT_TRUE(is_refused(world.regenerate(kHere)));
  EXPECT_TRUE(is_refused(world.load_now({77, 77})));
  EXPECT_TRUE(is_refused(world.request(kHere)));
  EXPECT_TRUE(is_refused(world.set_window(1, {})));
  EXPECT_TRUE(is_refused(world.put_entity(cow_in(kHere))));
  EXPECT_TRUE(is_refused(world.erase_entity(5)));
  EXPECT_TRUE(is_refused(world.load_entity(5)));
  EXPECT_TRUE(is_refused(world.put_player("p", {})));
  EXPECT_TRUE(is_refused(world.erase_player("p")));
  EXPECT_TRUE(is_refused(world.load_player("p")));
  EXPECT_TRUE(is_refused(world.put_global("p", {})));
  EXPECT_TRUE(is_refused(world.erase_global("p")));
  EXPECT_TRUE(is_refused(world.load_global("p")));
  EXPECT_TRUE(is_refused(world.player_left("p").wait()));
  EXPECT_TRUE(is_refused(world.save().wait()));
  EXPECT_TRUE(is_refused(world.save_to(fresh_memory_path()).wait()));
  EXPECT_TRUE(is_refused(world.pin()));
  world.remove_window(1);
  world.evict(kHere);
  world.set_memory_budget(1);
  EXPECT_TRUE(world.update(1000).loaded.empty());
  (void)world.get(kHere);
  EXPECT_EQ(world.state(kThere), ChunkState::absent) << "nothing loads any more";
  (void)world.entities_in(kHere);
  (void)world.new_entity_id();
  const std::uint64_t tick = world.current_tick();
  EXPECT_EQ(world.tick(), tick);
  EXPECT_FALSE(world.is_saving());
  const Telemetry last = world.telemetry();
  EXPECT_EQ(last.dirty_record_count, 0U);
  EXPECT_EQ(last.loads_in_flight, 0U);
  EXPECT_EQ(last.encode_count, 1U) << "counts stay";
  EXPECT_EQ(last.save_count, 1U);
}

TEST(WorldEntities, ThoseOfAChunkThatCannotBeLoadedAreFoundAllTheSame) {
  const std::string path = fresh_memory_path();
  {
    auto world = World::create(path);
    ASSERT_TRUE(world);
    ASSERT_TRUE(
        (*world)->put_entity({.id = 9, .owner = ChunkPos(4, 4), .data = Bytes::copy_of("x")}));
    ASSERT_TRUE((*world)->close());
  }
  auto world = World::open(path);
  ASSERT_TRUE(world);
  EXPECT_EQ((*world)->load_now({4, 4}).error().code(), ErrorCode::not_found);
  const auto entities = (*world)->load_entities_in({4, 4});
  ASSERT_TRUE(entities);
  ASSERT_EQ(entities->size(), 1U);
  EXPECT_EQ(entities->front().id, 9U);
  EXPECT_TRUE((*world)->entity(9));
}

}  // namespace
}  // namespace varve::test
