// Each kind of record: put, read, overwritten, erased, kept.
#include <limits>

#include "contract/store_contract.h"

namespace varve::test {
namespace {

TEST_P(StoreContract, ANewSaveIsEmpty) {
  const Contents contents = contents_of(store());
  EXPECT_EQ(contents.tick, 0u);
  EXPECT_EQ(contents.generator, std::nullopt);
  EXPECT_TRUE(contents.records.empty());
}

TEST_P(StoreContract, AChunkIsPutReadOverwrittenAndErased) {
  EXPECT_EQ(store().read_chunk(at(1, 2)).value(), std::nullopt);
  must({.chunks = {chunk(at(1, 2), "first"), chunk(at(2, 1), "other")}});
  EXPECT_EQ(store().read_chunk(at(1, 2)).value(), payload(RecordKind::chunk, "first"));
  must({.chunks = {chunk(at(1, 2), "the second, which is longer")}});
  EXPECT_EQ(store().read_chunk(at(1, 2)).value(),
            payload(RecordKind::chunk, "the second, which is longer"));
  must({.chunks = {{at(1, 2)}}});
  EXPECT_EQ(store().read_chunk(at(1, 2)).value(), std::nullopt);
  EXPECT_EQ(store().read_chunk(at(2, 1)).value(), payload(RecordKind::chunk, "other"));
}

TEST_P(StoreContract, PositionsThatDifferOnlyInCountAreDifferent) {
  Commit commit;
  for (std::uint8_t count = can().coordinate_count_min; count <= can().coordinate_count_max;
       ++count) {
    ChunkPos pos(1);
    pos.coordinate_count = count;
    commit.chunks.push_back(chunk(pos, std::string(count, 'x')));
  }
  must(commit);
  reopen();
  for (const ChunkChange& change : commit.chunks) {
    EXPECT_EQ(store().read_chunk(change.pos).value(), change.payload) << to_string(change.pos);
  }
}

TEST_P(StoreContract, TheFarthestCoordinatesAreAsGoodAsAny) {
  Commit commit;
  for (std::size_t axis = 0; axis < can().coordinate_count_max; ++axis) {
    const CoordinateRange& range = can().coordinate_ranges[axis];
    for (const std::int32_t x : {range.min, range.min + 1, range.max}) {
      ChunkPos pos;
      pos.coordinate_count = can().coordinate_count_max;
      pos.coordinates[axis] = x;
      // With 0 on one axis it may be the place an earlier axis gave.
      if (x == 0 && axis > 0) continue;
      commit.chunks.push_back(chunk(pos, std::to_string(x)));
    }
  }
  must(commit);
  reopen();
  for (const ChunkChange& change : commit.chunks) {
    EXPECT_EQ(store().read_chunk(change.pos).value(), change.payload) << to_string(change.pos);
  }
}

TEST_P(StoreContract, SpacesAreApart) {
  const ChunkPos here = at(1, 2);
  const ChunkPos there = here.in(Space::named("the nether").value());
  if (!applies(can().spaces, {.chunks = {chunk(there, "there")}})) return;
  must({.chunks = {chunk(here, "here"), chunk(there, "there")}});
  reopen();
  EXPECT_EQ(store().read_chunk(here).value(), payload(RecordKind::chunk, "here"));
  EXPECT_EQ(store().read_chunk(there).value(), payload(RecordKind::chunk, "there"));
  must({.chunks = {{here}}});
  EXPECT_EQ(store().read_chunk(there).value(), payload(RecordKind::chunk, "there"));
}

TEST_P(StoreContract, AnEntityIsPutReadOverwrittenAndErased) {
  const ChunkPos home = owner(1);
  if (!applies(can().entities, {.entities = {entity(7, home, "x")}})) return;
  EXPECT_EQ(store().read_entity(7).value(), std::nullopt);
  must({.entities = {entity(7, home, "first")}});
  must({.entities = {entity(7, home, "second")}});
  EXPECT_EQ(store().read_entity(7).value(),
            (Entity{7, home, payload(RecordKind::entity, "second")}));
  must({.entities = {{7}}});
  EXPECT_EQ(store().read_entity(7).value(), std::nullopt);
  EXPECT_TRUE(store().read_entities_of(home).value().empty());
}

TEST_P(StoreContract, EntitiesAreFoundByTheirChunkAndFollowTheirOwner) {
  const ChunkPos a = owner(1);
  const ChunkPos b = owner(2);
  if (!applies(can().entities, {.entities = {entity(7, a, "x")}})) return;
  must({.entities = {entity(9, a, "nine"), entity(3, a, "three"), entity(5, b, "five")}});
  const auto ids = [&](const ChunkPos& pos) {
    std::vector<EntityId> found;
    const std::vector<Entity> there = store().read_entities_of(pos).value();
    for (const Entity& each : there) {
      EXPECT_EQ(each.owner, pos);
      found.push_back(each.id);
    }
    return found;
  };
  EXPECT_EQ(ids(a), (std::vector<EntityId>{3, 9}));
  must({.entities = {entity(3, b, "three")}});
  EXPECT_EQ(ids(a), (std::vector<EntityId>{9}));
  EXPECT_EQ(ids(b), (std::vector<EntityId>{3, 5}));
  reopen();
  EXPECT_EQ(ids(a), (std::vector<EntityId>{9}));
  EXPECT_EQ(ids(b), (std::vector<EntityId>{3, 5}));
}

TEST_P(StoreContract, AnEntityMayHaveNoOwner) {
  const bool supported = can().entities && can().entities_without_owner;
  if (!applies(supported, {.entities = {entity(7, {}, "x")}})) return;
  const ChunkPos home = owner(1);
  must({.entities = {entity(7, {}, "free"), entity(8, home, "x")}});
  reopen();
  EXPECT_EQ(store().read_entity(7).value()->owner, std::nullopt);
  must({.entities = {entity(7, home, "free"), entity(8, {}, "x")}});
  const auto there = store().read_entities_of(home).value();
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there.front().id, 7u);
  EXPECT_EQ(store().read_entity(8).value()->owner, std::nullopt);
}

TEST_P(StoreContract, EntityIdsUseAll64Bits) {
  const auto home = owner(1);
  const EntityId last = ~EntityId{0};
  if (!applies(can().entities, {.entities = {entity(7, home, "x")}})) return;
  must({.entities = {entity(0, home, "zero"), entity(last, home, "last")}});
  reopen();
  EXPECT_EQ(store().read_entity(0).value()->data, payload(RecordKind::entity, "zero"));
  EXPECT_EQ(store().read_entity(last).value()->data, payload(RecordKind::entity, "last"));
}

TEST_P(StoreContract, APlayerIsPutReadOverwrittenAndErased) {
  if (!applies(can().players, {.players = {player("ann", "x")}})) return;
  EXPECT_EQ(store().read_player("ann").value(), std::nullopt);
  must({.players = {player("ann", "first"), player("bob", "other")}});
  must({.players = {player("ann", "second")}});
  EXPECT_EQ(store().read_player("ann").value(), payload(RecordKind::player, "second"));
  must({.players = {{"ann"}}});
  EXPECT_EQ(store().read_player("ann").value(), std::nullopt);
  EXPECT_EQ(store().read_player("bob").value(), payload(RecordKind::player, "other"));
}

TEST_P(StoreContract, AGlobalIsPutReadOverwrittenAndErased) {
  if (!applies(can().globals, {.globals = {global("sky", "x")}})) return;
  EXPECT_EQ(store().read_global("sky").value(), std::nullopt);
  must({.globals = {global("sky", "first"), global("sea", "other")}});
  must({.globals = {global("sky", "second")}});
  EXPECT_EQ(store().read_global("sky").value(), payload(RecordKind::global, "second"));
  must({.globals = {{"sky"}}});
  EXPECT_EQ(store().read_global("sky").value(), std::nullopt);
  EXPECT_EQ(store().read_global("sea").value(), payload(RecordKind::global, "other"));
}

TEST_P(StoreContract, APlayerAndAGlobalOfOneNameAreApart) {
  const Commit commit{.players = {player("x", "player")}, .globals = {global("x", "global")}};
  if (!applies(can().players && can().globals, commit)) return;
  must(commit);
  reopen();
  EXPECT_EQ(store().read_player("x").value(), payload(RecordKind::player, "player"));
  EXPECT_EQ(store().read_global("x").value(), payload(RecordKind::global, "global"));
}

TEST_P(StoreContract, EmptyIsNotMissing) {
  Commit commit{.chunks = {chunk(at(1), "")}};
  if (can().entities) commit.entities = {entity(7, owner(2), "")};
  if (can().players) commit.players = {player("ann", "")};
  if (can().globals) commit.globals = {global("sky", "")};
  must(commit);
  reopen();
  EXPECT_EQ(store().read_chunk(at(1)).value(), payload(RecordKind::chunk, ""));
  if (can().entities) {
    EXPECT_TRUE(store().read_entity(7).value().has_value());
  }
  if (can().players) {
    EXPECT_EQ(store().read_player("ann").value(), payload(RecordKind::player, ""));
  }
  if (can().globals) {
    EXPECT_EQ(store().read_global("sky").value(), payload(RecordKind::global, ""));
  }
}

TEST_P(StoreContract, ReopeningKeepsEverything) {
  must({.tick = 5, .chunks = {chunk(at(1), "one"), chunk(at(-2, 3), "two")}});
  Commit commit{.tick = 40, .chunks = {chunk(at(1), "changed")}};
  if (can().entities) commit.entities = {entity(7, owner(1), "seven")};
  if (can().players) commit.players = {player("ann", "a")};
  if (can().globals) commit.globals = {global("sky", "blue")};
  if (can().generator) commit.generator = GeneratorId{"flat", 3};
  must(commit);
  const Contents before = contents_of(store());
  EXPECT_EQ(before.tick, 40u);
  for (int i = 0; i < 2; ++i) {
    reopen();
    EXPECT_EQ(contents_of(store()), before);
  }
}

TEST_P(StoreContract, TheGeneratorIsRememberedAndReplaced) {
  const GeneratorId flat{"flat", 1};
  const GeneratorId hills{"hills: \xc3\xa9", 0xffff'ffff};
  if (!applies(can().generator, {.generator = flat})) return;
  must({.generator = flat});
  EXPECT_EQ(store().generator(), flat);
  must({.generator = hills});
  must({.chunks = {chunk(at(1), "x")}});
  reopen();
  EXPECT_EQ(store().generator(), hills);
}

TEST_P(StoreContract, ALargePayloadComesBackWhole) {
  std::string large(3'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 7);
  must({.chunks = {chunk(at(1), large)}});
  reopen();
  EXPECT_EQ(store().read_chunk(at(1)).value(), payload(RecordKind::chunk, large));
}

}  // namespace
}  // namespace varve::test
