#include "store/nebula/scene_records.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "store/nebula/sample_scene.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/golden.h"
#include "varve/format.h"

namespace varve::nebula {
namespace {

using varve::test::hex;

EntityRecord record_at(const SceneRecords& records, std::size_t index) {
  return decode_entity(records.records.at(index).second.data).value();
}

SceneEntity entity(EntityId id, std::vector<Component> components = {}) {
  return {.stable_id = id, .components = std::move(components)};
}

void expect_corruption(const Scene& scene, std::string_view why) {
  const auto records = to_records(scene);
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().code(), ErrorCode::corruption);
  EXPECT_NE(records.error().message().find(why), std::string::npos) << records.error().message();
}

TEST(SceneRecords, TheWorkedExample) {
  const SceneRecords records = *to_records(test::example_scene());
  ASSERT_EQ(records.records.size(), 2u);
  EXPECT_EQ(records.records[0].first, 5u);
  EXPECT_EQ(records.records[0].second.owner, std::nullopt);
  EXPECT_EQ(record_at(records, 0),
            (EntityRecord{
                .name = "Ship", .components = {{"WorldPos", "(x: 0)"}}, .prefabs = {"ship.ron"}}));
  EXPECT_EQ(records.records[1].first, 300u);
  EXPECT_EQ(records.records[1].second.owner, chunk_pos(Face::pos_x, 3, -2));
  EXPECT_EQ(record_at(records, 1),
            (EntityRecord{.components = {{"Health", hex("50ff")}}, .parents = {5, 9}}));
  EXPECT_EQ(*to_scene(records), test::example_scene());
}

TEST(SceneRecords, ARelationSaidTwiceIsOneAndTheOrderIsFixed) {
  const Scene scene{.entities = {entity(30), entity(10), entity(20)},
                    .relationships = {{0, 1}, {2, 1}, {0, 1}, {1, 0}, {2, 2}},
                    .prefab_refs = {{"b", 0}, {"a", 1}, {"a", 0}, {"b", 0}}};
  const SceneRecords records = *to_records(scene);
  EXPECT_EQ(record_at(records, 0).parents, (std::vector<EntityId>{20, 30}));
  EXPECT_EQ(record_at(records, 1).parents, (std::vector<EntityId>{20}));
  EXPECT_EQ(record_at(records, 2).parents, (std::vector<EntityId>{10}));
  EXPECT_EQ(record_at(records, 2).prefabs, (std::vector<std::string>{"b", "a", "b"}));
  const Scene expected{.entities = {entity(10), entity(20), entity(30)},
                       .relationships = {{0, 2}, {1, 0}, {1, 1}, {2, 0}},
                       .prefab_refs = {{"a", 0}, {"b", 2}, {"a", 2}, {"b", 2}}};
  EXPECT_EQ(*to_scene(records), expected);
}

TEST(SceneRecords, AParentThatCameIntoTheSceneIsARelation) {
  // The original program carries the component along while it makes an entity 7.
  const Scene scene{.entities = {entity(5, {{"varve.parents", "[9, 7,7]"}}), entity(7)},
                    .relationships = {{1, 0}}};
  const SceneRecords records = *to_records(scene);
  EXPECT_EQ(record_at(records, 0).parents, (std::vector<EntityId>{7, 9}));
  const Scene expected{.entities = {entity(5, {{"varve.parents", "[9]"}}), entity(7)},
                       .relationships = {{1, 0}}};
  EXPECT_EQ(*to_scene(records), expected);
}

TEST(SceneRecords, LooseReferencesStayOutside) {
  const Scene scene{.entities = {entity(1)},
                    .relationships = {{0, 7}, {7, 0}, {3, 3}},
                    .prefab_refs = {{"p", 1}, {"q", ~std::uint64_t{0}}}};
  SceneRecords records = *to_records(scene);
  EXPECT_EQ(records.loose_relationships, scene.relationships);
  EXPECT_EQ(records.loose_prefab_refs, scene.prefab_refs);
  EXPECT_TRUE(record_at(records, 0).parents.empty());
  for (const EntityId id : {2, 3, 4, 5})
    records.records.emplace_back(id, EntityValue{std::nullopt, *encode_entity({})});
  const Scene grown = *to_scene(records);
  EXPECT_EQ(grown.relationships, (std::vector<Relationship>{{5, 7}, {7, 5}, {5, 5}}));
  EXPECT_EQ(grown.prefab_refs, (std::vector<PrefabRef>{{"p", 5}, {"q", ~std::uint64_t{0}}}));
  EXPECT_EQ(to_records(grown)->loose_relationships, grown.relationships);
}

TEST(SceneRecords, TheOriginalsSampleComesBack) {
  VARVE_SHARED_OR_SKIP(sample, "golden/nebula/nscd_sample.bin");
  const SceneRecords records = *to_records(*decode_scene(sample));
  EXPECT_EQ(record_at(records, 1).parents, (std::vector<EntityId>{1}));
  EXPECT_EQ(records.loose_prefab_refs, (std::vector<PrefabRef>{{"prefabs/tree.ron", 300}}));
  EXPECT_EQ(*encode_scene(*to_scene(records)), sample);
}

TEST(SceneRecords, AnIdThatStandsTwiceIsCorruption) {
  expect_corruption({.entities = {entity(5), entity(7), entity(5)}}, "entity:5 stands twice");
}

TEST(SceneRecords, AMalformedComponentOfOursIsCorruption) {
  const auto parents = [](std::variant<std::string, Bytes> data) {
    return Scene{.entities = {entity(5, {{"varve.parents", std::move(data)}})}};
  };
  expect_corruption(parents("5"), "entity:5: component varve.parents: expected a list");
  expect_corruption(parents("[-1]"), "item 0: expected an integer");
  expect_corruption(parents("[1"), "line 1");
  expect_corruption(parents(Bytes()), "expected RON, found bytes");
  expect_corruption({.entities = {entity(5, {{"varve.parents", "[1]"}, {"varve.parents", "[1]"}})}},
                    "twice");

  const auto owner = [](std::variant<std::string, Bytes> data) {
    return Scene{.entities = {entity(5, {{"varve.owner", std::move(data)}})}};
  };
  expect_corruption(owner("()"), "entity:5: component varve.owner: expected a struct");
  expect_corruption(owner("(face: 6, x: 0, y: 0, lod: 0)"), "field face: expected an integer");
  expect_corruption(owner("(face: -1, x: 0, y: 0, lod: 0)"), "field face: expected an integer");
  expect_corruption(owner("(face: 0, x: 2147483648, y: 0, lod: 0)"), "field x: ");
  expect_corruption(owner("(face: 0, x: 0, y: -2147483649, lod: 0)"), "field y: ");
  expect_corruption(owner("(face: 0, x: 0, y: 0, lod: 256)"), "field lod: ");
  expect_corruption(owner("(face: 0, x: 0, y: 0)"), "field lod is missing");
  expect_corruption(owner("(face: 0, x: 0, y: 0, lod: 0, z: 1)"), "unknown field z");
  expect_corruption(owner("P(face: 0, x: 0, y: 0, lod: 0)"), "found P");
  expect_corruption(owner(Bytes()), "expected RON, found bytes");
  const std::string good = "(face: 0, x: 0, y: 0, lod: 0)";
  expect_corruption({.entities = {entity(5, {{"varve.owner", good}, {"varve.owner", good}})}},
                    "twice");
}

TEST(SceneRecords, RecordsThatAreNoneAreRefused) {
  const auto refused = [](const SceneRecords& records, ErrorCode code, std::string_view why) {
    const auto scene = to_scene(records);
    ASSERT_FALSE(scene.ok());
    EXPECT_EQ(scene.error().code(), code);
    EXPECT_NE(scene.error().message().find(why), std::string::npos) << scene.error().message();
  };
  const Bytes data = *encode_entity({});
  refused({.records = {{5, {std::nullopt, hex("ff")}}}}, ErrorCode::corruption, "entity:5: ");
  refused({.records = {{5, {std::nullopt, data}}, {5, {std::nullopt, data}}}},
          ErrorCode::invalid_argument, "entity:5 is out of order");
  for (const ChunkPos& owner :
       {ChunkPos(0, 0), ChunkPos(6, 0, 0, 0), ChunkPos(-1, 0, 0, 0), ChunkPos(0, 0, 0, 256),
        ChunkPos(0, 0, 0, -1), ChunkPos(0, 0, 0, 0).in(*Space::named("moon"))}) {
    refused({.records = {{5, {owner, data}}}}, ErrorCode::invalid_argument,
            "entity:5: the owner " + to_string(owner));
  }
}

RC_GTEST_PROP(SceneRecords, ComeBackThroughTheFile, ()) {
  const SceneRecords records = *test::any_scene_records();
  const Scene scene = to_scene(records).value();
  RC_ASSERT(to_records(scene).value() == records);
  RC_ASSERT(to_records(decode_scene(encode_scene(scene).value()).value()).value() == records);
  RC_ASSERT(to_records(parse_scene(write_scene(scene).value()).value()).value() == records);
}

RC_GTEST_PROP(SceneRecords, TheOrderOfAFileDoesNotMatter, ()) {
  Scene scene = to_scene(*test::any_scene_records()).value();
  const SceneRecords records = to_records(scene).value();
  // The entities the other way round, and with them all places inside the list.
  const std::uint64_t count = scene.entities.size();
  const auto turned = [&](std::uint64_t& place) {
    if (place < count) place = count - 1 - place;
  };
  std::reverse(scene.entities.begin(), scene.entities.end());
  for (Relationship& relationship : scene.relationships) {
    turned(relationship.parent);
    turned(relationship.child);
  }
  for (PrefabRef& prefab : scene.prefab_refs) turned(prefab.root_entity);
  RC_ASSERT(to_records(scene).value() == records);
}

// --- Through a store -----------------------------------------------------------------

TEST(SceneChanges, ASceneGoesIntoASaveAndComesBack) {
  auto store = (*find_format("memory"))->create("memory:scene-changes");
  ASSERT_TRUE(store.ok());
  auto changes = to_changes(test::example_scene());
  ASSERT_TRUE(changes.ok()) << changes.error().message();
  Progress progress;
  ASSERT_TRUE((*store)->commit({.tick = 1, .entities = *changes}, progress).ok());
  EXPECT_EQ((*store)->read_entities_of(chunk_pos(Face::pos_x, 3, -2))->at(0).id, 300u);
  EXPECT_EQ(*to_scene(**store), test::example_scene());

  // An entity of some other schema.
  const EntityChange strange{7, EntityValue{std::nullopt, Bytes::copy_of("?")}};
  ASSERT_TRUE((*store)->commit({.tick = 2, .entities = {strange}}, progress).ok());
  const auto scene = to_scene(**store);
  ASSERT_FALSE(scene.ok());
  EXPECT_EQ(scene.error().code(), ErrorCode::corruption);
  EXPECT_TRUE(scene.error().message().starts_with("entity:7: ")) << scene.error().message();
  ASSERT_TRUE((*store)->close().ok());
  EXPECT_FALSE(to_scene(**store).ok()) << "it is closed";
}

// Calls `call` with ever more memory until it succeeds.
template <class Call>
void expect_out_of_space_until_it_succeeds(const Call& call) {
  for (std::size_t index = 0;; ++index) {
    ASSERT_LT(index, 10'000u);
    const auto result = [&] {
      const varve::test::AllocationFailure failure(index);
      return call();
    }();
    if (result.ok()) return;
    ASSERT_EQ(result.error().code(), ErrorCode::out_of_space) << result.error().message();
  }
}

TEST(SceneChanges, WithoutMemoryEveryCallSaysSo) {
  const Scene scene = test::example_scene();
  const Bytes nscd = *encode_scene(scene);
  const std::string text = *write_scene(scene);
  const EntityRecord record = record_at(*to_records(scene), 1);
  const Bytes data = *encode_entity(record);
  const WorldMeta meta{.display_name = "a name that needs memory of its own",
                       .other_fields = {{"label", "[1, 2, 3]"}}};
  const std::string meta_text = *encode_meta(meta);
  expect_out_of_space_until_it_succeeds([&] { return decode_scene(nscd); });
  expect_out_of_space_until_it_succeeds([&] { return encode_scene(scene); });
  expect_out_of_space_until_it_succeeds([&] { return parse_scene(text); });
  expect_out_of_space_until_it_succeeds([&] { return write_scene(scene); });
  expect_out_of_space_until_it_succeeds([&] { return decode_entity(data); });
  expect_out_of_space_until_it_succeeds([&] { return encode_entity(record); });
  expect_out_of_space_until_it_succeeds([&] { return to_changes(scene); });
  expect_out_of_space_until_it_succeeds([&] { return decode_meta(meta_text); });
  expect_out_of_space_until_it_succeeds([&] { return encode_meta(meta); });

  auto store = (*find_format("memory"))->create("memory:scene-memory");
  Progress progress;
  ASSERT_TRUE((*store)->commit({.tick = 1, .entities = *to_changes(scene)}, progress).ok());
  expect_out_of_space_until_it_succeeds([&] { return to_scene(**store); });
}

TEST(SceneChanges, ReferencesToPlacesThatAreNotThereAreRefused) {
  const auto refused = [](const Scene& scene, std::string_view why) {
    const auto changes = to_changes(scene);
    ASSERT_FALSE(changes.ok());
    EXPECT_EQ(changes.error().code(), ErrorCode::corruption);
    EXPECT_NE(changes.error().message().find(why), std::string::npos) << changes.error().message();
  };
  refused({.entities = {entity(1)}, .relationships = {{0, 1}}}, "a relation of 0 and 1");
  refused({.entities = {entity(1)}, .prefab_refs = {{"p", 1}}}, "prefab p has its root at 1");
  refused({.entities = {entity(1), entity(1)}}, "entity:1 stands twice");
}

}  // namespace
}  // namespace varve::nebula
