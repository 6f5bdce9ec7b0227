// Records that cannot be trusted: fatal for that read, never for the world.
#include <gtest/gtest.h>

#include "varve/format.h"
#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kBad(1, 2);
constexpr ChunkPos kGood(3, 4);

// A world whose store holds three bytes where a chunk of kFlatChunkSize should be.
struct DamagedWorld {
  explicit DamagedWorld(WorldOptions options = quiet_options()) : flat(options), watch(flat) {
    flat.world.reset();
    const auto store = *find_format("memory").value()->open(flat.path);
    Progress progress;
    Commit commit;
    commit.chunks = {{.pos = kBad, .payload = text("bad")}};
    commit.entities = {{.id = 5, .value = EntityValue{.owner = kBad, .data = text("cow")}}};
    EXPECT_TRUE(store->commit(commit, progress));
    EXPECT_TRUE(store->close());
    flat.crash_and_reopen();
  }
  void refuse_quarantine(bool refuses) {
    flat.control.before_quarantine([refuses](const ChunkPos&) -> Status {
      if (refuses) return out_of_space("no room to keep it aside");
      return {};
    });
  }
  bool is_replaced() { return flat.world->store().read_chunk(kBad)->value() != text("bad"); }

  FlatWorld flat;
  StreamWatch watch;
};

TEST(WorldDamage, FailsThatReadAndNothingElse) {
  DamagedWorld damaged;
  World& world = *damaged.flat.world;
  for (int i = 0; i < 2; ++i) {
    const auto loaded = world.load_now(kBad);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code(), ErrorCode::corruption);
    EXPECT_NE(loaded.error().message().find("chunk:1,2"), std::string::npos);
  }
  EXPECT_EQ(world.state(kBad), ChunkState::absent);
  EXPECT_EQ(world.telemetry().load_failure_count, 2U);
  EXPECT_EQ(world.telemetry().last_error->code(), ErrorCode::corruption);
  EXPECT_EQ(damaged.flat.at(kGood, 0), 7);
  ASSERT_TRUE(damaged.flat.set(kGood, 0, 9));
  ASSERT_TRUE(world.save().wait());
  EXPECT_FALSE(damaged.is_replaced());
  EXPECT_EQ(damaged.flat.control.quarantine_count, 0U);
}

TEST(WorldDamage, IsReportedByARequestAndByAWindow) {
  DamagedWorld damaged;
  ASSERT_TRUE(damaged.flat.world->request(kBad));
  damaged.watch.settle_loads();
  ASSERT_EQ(damaged.watch.failed.size(), 1U);
  EXPECT_EQ(damaged.watch.failed[0].error.code(), ErrorCode::corruption);
  ASSERT_TRUE(damaged.flat.world->set_window(1, {.centre = kBad, .radius = {1, 1}}));
  damaged.watch.settle_loads();
  EXPECT_EQ(damaged.watch.failed.size(), 2U);
  EXPECT_EQ(damaged.watch.loaded.size(), 8U);
}

TEST(WorldDamage, IsReplacedOnlyAfterItsBytesWereKept) {
  DamagedWorld damaged;
  World& world = *damaged.flat.world;
  ASSERT_FALSE(world.load_now(kBad));
  bool was_replaced_before = true;
  damaged.flat.control.before_quarantine([&](const ChunkPos& pos) -> Status {
    EXPECT_EQ(pos, kBad);
    was_replaced_before = damaged.is_replaced();
    return {};
  });
  ASSERT_TRUE(world.regenerate(kBad));
  EXPECT_EQ(damaged.flat.at(kBad, 0), 7);
  EXPECT_EQ(world.state(kBad), ChunkState::dirty);
  EXPECT_EQ(damaged.flat.control.quarantine_count, 0U);
  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(damaged.flat.control.quarantine_count, 1U);
  EXPECT_FALSE(was_replaced_before);
  EXPECT_TRUE(damaged.is_replaced());
  // Whole again: nothing is kept aside any more, and there is nothing to regenerate.
  ASSERT_TRUE(damaged.flat.set(kBad, 0, 9));
  EXPECT_EQ(world.regenerate(kBad).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(damaged.flat.at(kBad, 0), 9);
  ASSERT_TRUE(world.put(kBad, flat_chunk(4)));
  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(damaged.flat.control.quarantine_count, 1U);
}

TEST(WorldDamage, RegenerateIsRefusedForWhatIsNotDamaged) {
  DamagedWorld damaged;
  World& world = *damaged.flat.world;
  EXPECT_EQ(world.regenerate(kGood).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(world.regenerate(kBad).error().code(), ErrorCode::invalid_argument)
      << "nobody tried to load it";
  ASSERT_FALSE(world.load_now(kBad));
  ASSERT_TRUE(world.put(kBad, flat_chunk(4)));
  EXPECT_EQ(world.regenerate(kBad).error().code(), ErrorCode::invalid_argument)
      << "the game replaced it";
  EXPECT_EQ(damaged.flat.at(kBad, 0), 4);
}

TEST(WorldDamage, RegeneratingBringsTheEntitiesToo) {
  DamagedWorld damaged;
  ASSERT_FALSE(damaged.flat.world->load_now(kBad));
  ASSERT_TRUE(damaged.flat.world->regenerate(kBad));
  EXPECT_EQ(damaged.flat.world->entities_in(kBad).size(), 1U);
}

TEST(WorldDamage, APutOrAnErasureKeepsTheBytesToo) {
  for (const bool erases : {false, true}) {
    DamagedWorld damaged;
    World& world = *damaged.flat.world;
    ASSERT_FALSE(world.load_now(kBad));
    ASSERT_TRUE(erases ? world.erase(kBad) : world.put(kBad, flat_chunk(4)));
    ASSERT_TRUE(world.save().wait());
    EXPECT_EQ(damaged.flat.control.quarantine_count, 1U);
    EXPECT_EQ(damaged.flat.stored_at(kBad, 0), erases ? -1 : 4);
  }
}

TEST(WorldDamage, ARefusedQuarantineLeavesItInPlaceAndSavesTheRest) {
  DamagedWorld damaged;
  World& world = *damaged.flat.world;
  ASSERT_FALSE(world.load_now(kBad));
  damaged.refuse_quarantine(true);
  ASSERT_TRUE(world.regenerate(kBad));
  ASSERT_EQ(damaged.flat.at(kGood, 0), 7);
  ASSERT_TRUE(damaged.flat.set(kGood, 0, 9));
  for (int i = 0; i < 2; ++i) {
    const auto saved = world.save().wait();
    ASSERT_TRUE(saved);
    ASSERT_EQ(saved->problems.size(), 1U);
    EXPECT_EQ(saved->problems[0].key, "chunk:1,2");
    EXPECT_EQ(world.state(kBad), ChunkState::dirty);
    EXPECT_FALSE(damaged.is_replaced());
  }
  EXPECT_EQ(damaged.flat.stored_at(kGood, 0), 9);
  EXPECT_FALSE(world.close()) << "something is not saved";
  damaged.refuse_quarantine(false);
  ASSERT_TRUE(world.save().wait());
  EXPECT_TRUE(damaged.is_replaced());
}

TEST(WorldDamage, ARefusedQuarantineHoldsWhateverHappensToTheChunkMeanwhile) {
  Gate gate;
  DamagedWorld damaged;
  const GateOpener opener(gate);
  World& world = *damaged.flat.world;
  ASSERT_FALSE(world.load_now(kBad));
  damaged.refuse_quarantine(true);
  damaged.flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(world.regenerate(kBad));
  world.tick();
  SaveHandle first = world.save();
  gate.wait_for_arrivals(1);
  // Edited, and on its way again before anybody heard that it was left out.
  ASSERT_TRUE(damaged.flat.set(kBad, 0, 9));
  world.evict(kBad);
  world.update(0);
  gate.open();
  ASSERT_TRUE(first.wait());
  damaged.watch.update_until([&] { return world.telemetry().commit_count == 2; });
  EXPECT_FALSE(damaged.is_replaced());
  ASSERT_TRUE(damaged.flat.set(kBad, 1, 10));
  ASSERT_TRUE(world.save().wait());
  EXPECT_FALSE(damaged.is_replaced());
  EXPECT_EQ(damaged.flat.at(kBad, 0), 9);
  damaged.refuse_quarantine(false);
  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(damaged.flat.stored_at(kBad, 0), 9);
  EXPECT_EQ(damaged.flat.stored_at(kBad, 1), 10);
}

TEST(WorldDamage, ARefusedQuarantineHoldsForAChunkErasedAndLoadedAnew) {
  DamagedWorld damaged;
  World& world = *damaged.flat.world;
  ASSERT_FALSE(world.load_now(kBad));
  damaged.refuse_quarantine(true);
  ASSERT_TRUE(world.erase(kBad));
  ASSERT_EQ(damaged.flat.at(kBad, 0), 7);
  ASSERT_TRUE(damaged.flat.set(kBad, 0, 9));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world.save().wait());
    EXPECT_FALSE(damaged.is_replaced()) << i;
  }
  EXPECT_EQ(damaged.flat.at(kBad, 0), 9);
}

TEST(WorldDamage, AFailedCommitKeepsTheReplacementForTheNextOne) {
  DamagedWorld damaged;
  World& world = *damaged.flat.world;
  ASSERT_FALSE(world.load_now(kBad));
  ASSERT_TRUE(world.regenerate(kBad));
  damaged.flat.control.before_commit([](const Commit&) -> Status { return io_error("no"); });
  ASSERT_FALSE(world.save().wait());
  damaged.flat.control.before_commit({});
  ASSERT_TRUE(world.save().wait());
  EXPECT_GE(damaged.flat.control.quarantine_count, 1U);
  EXPECT_EQ(damaged.flat.stored_at(kBad, 0), 7);
}

TEST(WorldDamage, ACopyDoesNotTakeTheQuarantineAlong) {
  DamagedWorld damaged;
  World& world = *damaged.flat.world;
  ASSERT_FALSE(world.load_now(kBad));
  ASSERT_TRUE(world.regenerate(kBad));
  const std::string path = fresh_memory_path();
  ASSERT_TRUE(world.save_to(path).wait());
  EXPECT_EQ(damaged.flat.control.quarantine_count, 0U);
  EXPECT_FALSE(damaged.is_replaced());
  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(damaged.flat.control.quarantine_count, 1U);
  EXPECT_EQ(damaged.flat.stored_at(kBad, 0), 7);
}

TEST(WorldDamage, WriteThroughAndEvictionKeepTheBytesToo) {
  WorldOptions options = quiet_options();
  options.write_through.enabled = true;
  DamagedWorld through(options);
  ASSERT_FALSE(through.flat.world->load_now(kBad));
  ASSERT_TRUE(through.flat.world->regenerate(kBad));
  through.watch.update_until([&] { return through.is_replaced(); });
  EXPECT_EQ(through.flat.control.quarantine_count, 1U);

  DamagedWorld evicted;
  ASSERT_FALSE(evicted.flat.world->load_now(kBad));
  ASSERT_TRUE(evicted.flat.world->regenerate(kBad));
  evicted.flat.world->evict(kBad);
  evicted.watch.update_until_absent(kBad);
  EXPECT_EQ(evicted.flat.control.quarantine_count, 1U);
  EXPECT_EQ(evicted.flat.at(kBad, 0), 7);
}

TEST(WorldDamage, ErasedWhileItsLoadIsUnderWayComesFromTheGenerator) {
  Gate gate;
  DamagedWorld damaged;
  const GateOpener opener(gate);
  World& world = *damaged.flat.world;
  damaged.flat.control.before_read_chunk([&](const ChunkPos&) {
    gate.pass();
    return Status();
  });
  ASSERT_TRUE(world.request(kBad));
  gate.wait_for_arrivals(1);
  ASSERT_TRUE(world.erase(kBad));
  gate.open();
  damaged.watch.settle_loads();
  EXPECT_TRUE(damaged.watch.failed.empty());
  EXPECT_TRUE(damaged.watch.has_loaded(kBad));
  EXPECT_EQ(damaged.flat.at(kBad, 0), 7);
}

TEST(WorldDamage, EntitiesThatCannotBeReadDoNotTakeTheirChunkAlong) {
  FlatWorld flat(quiet_options());
  ASSERT_TRUE(flat.world->put_entity({.id = 5, .owner = kGood, .data = text("cow")}));
  ASSERT_TRUE(flat.world->close());
  flat.crash_and_reopen();
  flat.control.before_read_entities_of(
      [](const ChunkPos&) -> Status { return corruption("the checksum is wrong"); });
  ASSERT_TRUE(flat.world->request(kGood));
  flat.update_until([](const UpdateReport& report) {
    if (report.loaded.empty()) return false;
    EXPECT_EQ(report.failed.size(), 1U);
    EXPECT_NE(report.failed[0].error.message().find("entities of chunk:3,4"), std::string::npos);
    return true;
  });
  EXPECT_TRUE(flat.world->get(kGood));
  EXPECT_EQ(flat.world->regenerate(kGood).error().code(), ErrorCode::invalid_argument)
      << "the chunk itself is not damaged";
  EXPECT_FALSE(flat.world->load_entities_in(kGood));
  // Once they can be read, asking again brings them.
  flat.control.before_read_entities_of({});
  ASSERT_TRUE(flat.world->request(kGood));
  flat.update_until([&] { return flat.world->entities_in(kGood).size() == 1; });
}

}  // namespace
}  // namespace varve::test
