// Entities that move, and what is said about where they are.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "sample_store.h"
#include "support/readers.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Space named(std::string_view name) { return Space::named(name).value(); }

void expect_only_at(const Store& store, EntityId id, const std::optional<ChunkPos>& owner,
                    const std::vector<ChunkPos>& elsewhere) {
  const auto read = store.read_entity(id);
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_TRUE(*read);
  EXPECT_EQ((*read)->owner, owner);
  for (const ChunkPos& pos : elsewhere) {
    EXPECT_EQ(store.read_entities_of(pos).value().size(), owner == pos ? 1u : 0u) << to_string(pos);
  }
  int listed = 0;
  EXPECT_TRUE(store.list_entities({}, [&](const EntityInfo& info) {
    EXPECT_EQ(info.owner, owner);
    ++listed;
    return true;
  }));
  EXPECT_EQ(listed, 1);
  EXPECT_TRUE(verify(store).clean()) << problems_of(verify(store));
}

TEST(VarveEntities, MoveBetweenChunksSpacesAndNoOwner) {
  const std::vector<ChunkPos> places = {ChunkPos(0, 0),    ChunkPos(15, 15),
                                        ChunkPos(-1, 0),   ChunkPos(0, 0).in(named("nether")),
                                        ChunkPos(0, 0, 0), ChunkPos(-2147483648, 2147483647)};
  const auto disk = new_disk();
  auto store = open_sample(disk);
  std::vector<std::optional<ChunkPos>> way(places.begin(), places.end());
  way.insert(way.begin() + 2, std::nullopt);
  way.push_back(std::nullopt);
  way.push_back(places[0]);
  for (const auto& owner : way) {
    EXPECT_EQ(commit(*store, {.entities = {entity(7, owner, "sheep")}}).entities.put_count, 1u);
    expect_only_at(*store, 7, owner, places);
    store = open_sample(disk);
    expect_only_at(*store, 7, owner, places);
  }
  EXPECT_EQ(commit(*store, {.entities = {entity(7, places[0], "sheep")}}).entities.unchanged_count,
            1u);
  EXPECT_EQ(commit(*store, {.entities = {{7, std::nullopt}}}).entities.erased_count, 1u);
  EXPECT_EQ(disk->kept->stats().entry_count, 3u) << "the header, its copy and a space are left";
}

TEST(VarveEntities, AreReadWholeWhileTheyMove) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  commit(*store, {.entities = {entity(7, ChunkPos(0, 0), "sheep")}});
  const Readers readers(2, [&] {
    const auto read = store->read_entity(7);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_TRUE(*read);
    EXPECT_EQ((*read)->data.text(), "sheep");
    std::size_t count = 0;
    EXPECT_TRUE(store->list_entities({}, [&](const EntityInfo&) { return ++count != 0; }));
    EXPECT_EQ(count, 1u);
  });
  for (int i = 0; i < 300; ++i) {
    commit(*store, {.entities = {entity(
                        7, i % 7 == 0 ? std::nullopt : std::optional(ChunkPos(i, -i)), "sheep")}});
    if (i % 10 == 0) readers.let_one_read();
  }
}

TEST(VarveEntities, AreReadWhileTheyMoveIntoSpacesThatAreNew) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  commit(*store, {.entities = {entity(7, ChunkPos(0, 0), "sheep")}});
  const Readers readers(2, [&] {
    const auto read = store->read_entity(7);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_TRUE(*read);
  });
  for (int i = 0; i < 400; ++i) {
    commit(*store,
           {.entities = {entity(7, ChunkPos(i, 1).in(named(fmt::format("planet {}", i))), "s")}});
  }
  readers.let_one_read();
}

TEST(VarveEntities, OneWhosePlaceIsDamagedIsReplacedNotDoubled) {
  for (const bool erase : {false, true}) {
    const auto disk = new_disk();
    const auto store = open_sample(disk);
    const std::vector<ChunkPos> places = {ChunkPos(3, 3), ChunkPos(90, 3)};
    commit(*store, {.entities = {entity(7, places[0], "sheep")}});
    disk->flip(entity_place_key(7));
    EXPECT_EQ(store->read_entity(7).error().code(), ErrorCode::corruption);
    EXPECT_TRUE(store->quarantine(RecordKey{.kind = RecordKind::entity, .id = 7}));
    EXPECT_EQ(disk->count_of(KeyTag::quarantine), 1u);
    if (erase) {
      commit(*store, {.entities = {{7, std::nullopt}}});
      EXPECT_FALSE(store->read_entity(7).value());
      EXPECT_TRUE(store->read_entities_of(places[0]).value().empty());
      EXPECT_EQ(disk->count_of(KeyTag::owned_entity), 0u);
      EXPECT_TRUE(verify(*store).clean());
    } else {
      commit(*store, {.entities = {entity(7, places[1], "another sheep")}});
      expect_only_at(*store, 7, places[1], places);
    }
  }
}

}  // namespace
}  // namespace varve
