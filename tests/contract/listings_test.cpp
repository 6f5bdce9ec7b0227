// Listings: sorted, filtered, stopped early, of one generation.
#include <algorithm>
#include <utility>

#include "contract/store_contract.h"

namespace varve::test {
namespace {

std::vector<ChunkPos> chunks(const StoreView& view, const ChunkFilter& filter = {}) {
  std::vector<ChunkPos> found;
  EXPECT_TRUE(view.list_chunks(filter, [&](const ChunkInfo& info) {
    found.push_back(info.pos);
    return true;
  }));
  return found;
}

std::vector<EntityId> entities(const StoreView& view, const ChunkFilter& filter = {}) {
  std::vector<EntityId> found;
  EXPECT_TRUE(view.list_entities(filter, [&](const EntityInfo& info) {
    found.push_back(info.id);
    return true;
  }));
  return found;
}

TEST_P(StoreContract, ChunksAreListedInOrderWithTheirSizes) {
  std::vector<ChunkPos> all;
  Commit commit;
  for (const int x : {5, -3, 100, 0, -70'000}) {
    for (const int y : {2, -9, 0}) {
      all.push_back(at(x, y));
      commit.chunks.push_back(chunk(all.back(), std::string(static_cast<std::size_t>(y + 9), 'x')));
    }
  }
  must(commit);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(chunks(store()), all);
  reopen();
  EXPECT_EQ(chunks(store()), all);
  ASSERT_TRUE(store().list_chunks({}, [&](const ChunkInfo& info) {
    EXPECT_EQ(info.payload_size, store().read_chunk(info.pos).value()->size());
    return true;
  }));
}

TEST_P(StoreContract, ABoxShowsItsChunksAndNoOthers) {
  Commit commit;
  std::vector<ChunkPos> expected;
  const ChunkBox box{at(-1, 0), at(2, 3)};
  for (int x = -4; x <= 4; ++x) {
    for (int y = -4; y <= 4; ++y) {
      commit.chunks.push_back(chunk(at(x, y), "x"));
      if (box.contains(at(x, y))) expected.push_back(at(x, y));
    }
  }
  must(commit);
  EXPECT_EQ(chunks(store(), {.box = box}), expected);
  EXPECT_TRUE(chunks(store(), {.box = ChunkBox{at(90), at(99)}}).empty());
  // Corners the wrong way round hold nothing.
  EXPECT_TRUE(chunks(store(), {.box = ChunkBox{at(2, 3), at(-1, 0)}}).empty());
}

TEST_P(StoreContract, ASpaceShowsItsChunksAndNoOthers) {
  const Space nether = Space::named("listed nether").value();
  if (!applies(can().spaces, {.chunks = {chunk(at(1).in(nether), "x")}})) return;
  must({.chunks = {chunk(at(1), "x"), chunk(at(2).in(nether), "x"), chunk(at(-2).in(nether), "x"),
                   chunk(at(1).in(Space::named("listed a").value()), "x")}});
  EXPECT_EQ(chunks(store(), {.space = nether}), (std::vector{at(-2).in(nether), at(2).in(nether)}));
  EXPECT_EQ(chunks(store(), {.space = Space()}), (std::vector{at(1)}));
  EXPECT_EQ(chunks(store(), {.space = nether, .box = ChunkBox{at(1), at(2)}}),
            std::vector<ChunkPos>());
  EXPECT_EQ(chunks(store(), {.box = ChunkBox{at(0).in(nether), at(9).in(nether)}}),
            (std::vector{at(2).in(nether)}));
}

TEST_P(StoreContract, EntitiesAreListedByIdWithAFilterForTheirChunks) {
  const ChunkPos a = owner(1);
  const ChunkPos b = owner(2);
  if (!applies(can().entities, {.entities = {entity(7, a, "x")}})) return;
  Commit commit{.entities = {entity(30, a, "x"), entity(20, b, "xy"), entity(10, a, "xyz")}};
  std::vector<EntityId> all{10, 20, 30};
  if (can().entities_without_owner) {
    commit.entities.push_back(entity(5, {}, "free"));
    all.insert(all.begin(), 5);
  }
  must(commit);
  EXPECT_EQ(entities(store()), all);
  EXPECT_EQ(entities(store(), {.box = ChunkBox{a, a}}), (std::vector<EntityId>{10, 30}));
  EXPECT_EQ(entities(store(), {.space = Space()}), (std::vector<EntityId>{10, 20, 30}));
  EXPECT_EQ(entities(store(), {.box = ChunkBox{at(50), at(60)}}), std::vector<EntityId>());
  ASSERT_TRUE(store().list_entities({}, [&](const EntityInfo& info) {
    const Entity read = *store().read_entity(info.id).value();
    EXPECT_EQ(info.owner, read.owner);
    EXPECT_EQ(info.data_size, read.data.size());
    return true;
  }));
}

TEST_P(StoreContract, NamesAreListedInOrder) {
  Commit commit;
  std::vector<std::string> names{"zoe", "ann", "Zoe", "\xc3\xa9va", "a b", "a"};
  for (const std::string& name : names) {
    if (can().players) commit.players.push_back(player(name, name));
    if (can().globals) commit.globals.push_back(global(name, name));
  }
  must(commit);
  std::sort(names.begin(), names.end());
  const auto expect_names = [&](auto list, bool supported) {
    std::vector<std::string> found;
    EXPECT_TRUE(list([&](const NamedInfo& info) {
      found.push_back(info.name);
      return true;
    }));
    EXPECT_EQ(found, supported ? names : std::vector<std::string>());
  };
  expect_names([&](const auto& visit) { return store().list_players(visit); }, can().players);
  expect_names([&](const auto& visit) { return store().list_globals(visit); }, can().globals);
}

TEST_P(StoreContract, AListingStopsWhenTold) {
  Commit commit;
  for (int i = 0; i < 20; ++i) commit.chunks.push_back(chunk(at(i), "x"));
  if (can().entities) {
    for (EntityId id = 0; id < 20; ++id) commit.entities.push_back(entity(id, owner(1), "x"));
  }
  for (int i = 0; i < 20; ++i) {
    if (can().players) commit.players.push_back(player(std::to_string(i), "x"));
    if (can().globals) commit.globals.push_back(global(std::to_string(i), "x"));
  }
  must(commit);
  int count = 0;
  const auto three = [&](const auto&) { return ++count % 3 != 0; };
  const auto expect_three = [&](const Status& status, bool supported) {
    EXPECT_TRUE(status);
    EXPECT_EQ(std::exchange(count, 0), supported ? 3 : 0);
  };
  expect_three(store().list_chunks({}, three), true);
  expect_three(store().list_entities({}, three), can().entities);
  expect_three(store().list_players(three), can().players);
  expect_three(store().list_globals(three), can().globals);
}

TEST_P(StoreContract, AVisitorMayRead) {
  must({.chunks = {chunk(at(1), "one"), chunk(at(2), "two")}});
  int count = 0;
  ASSERT_TRUE(store().list_chunks({}, [&](const ChunkInfo& info) {
    EXPECT_TRUE(store().read_chunk(info.pos).value().has_value());
    EXPECT_EQ(chunks(store()).size(), 2u);
    return ++count > 0;
  }));
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace varve::test
