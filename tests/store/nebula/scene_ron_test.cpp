#include <gtest/gtest.h>

#include "codec/damage.h"
#include "store/nebula/sample_scene.h"
#include "support/allocation_watch.h"
#include "support/golden.h"

namespace varve::nebula {
namespace {

void expect_refused(std::string_view text, ErrorCode code, std::string_view why) {
  const auto scene = parse_scene(text);
  ASSERT_FALSE(scene.ok()) << text;
  EXPECT_EQ(scene.error().code(), code) << text;
  EXPECT_TRUE(scene.error().message().starts_with("scene: ")) << scene.error().message();
  EXPECT_NE(scene.error().message().find(why), std::string::npos) << scene.error().message();
}

void expect_corruption(std::string_view text, std::string_view why) {
  expect_refused(text, ErrorCode::corruption, why);
}

std::string with_entities(std::string_view entities) {
  return "(version: 1, entities: [" + std::string(entities) +
         "], relationships: [], prefab_refs: [])";
}

std::string with_component(std::string_view component) {
  return with_entities("(name: None, stable_id: 5, components: [" + std::string(component) + "])");
}

TEST(NebulaSceneRon, TheOriginalIsWrittenByteForByte) {
  VARVE_SHARED_OR_SKIP(text, "golden/nebula/sample.scene.ron");
  VARVE_SHARED_OR_SKIP(nscd, "golden/nebula/nscd_sample.bin");
  const auto scene = parse_scene(text.text());
  ASSERT_TRUE(scene.ok()) << scene.error().message();
  EXPECT_EQ(*scene, *decode_scene(nscd));
  EXPECT_EQ(*write_scene(*scene), text.text());
}

TEST(NebulaSceneRon, EveryTruncationIsCorruption) {
  VARVE_SHARED_OR_SKIP(text, "golden/nebula/sample.scene.ron");
  varve::test::for_every_prefix(text, [](const Bytes& cut) {
    EXPECT_EQ(parse_scene(cut.text()).error().code(), ErrorCode::corruption);
  });
}

TEST(NebulaSceneRon, EveryBitFlipIsRefusedOrReadsAsSomeScene) {
  const std::string text = *write_scene(test::example_scene());
  varve::test::for_every_bit_flip(as_byte_view(text), [](const Bytes& flipped) {
    const auto scene = parse_scene(flipped.text());
    if (!scene) return;
    EXPECT_EQ(*parse_scene(*write_scene(*scene)), *scene);
  });
}

TEST(NebulaSceneRon, NamesOfStructsAndLinesMayBeLeftOut) {
  EXPECT_EQ(*parse_scene("(version:1,entities:[],relationships:[],prefab_refs:[])"), Scene());
  const auto scene = parse_scene(
      "(prefab_refs:[(root_entity:7,path:\"p\")],relationships:[(child:2,parent:1)],"
      "entities:[(components:[(data:Binary([]),type_name:\"t\")],stable_id:5,name:Some(\"n\"))],"
      "version:1)");
  ASSERT_TRUE(scene.ok()) << scene.error().message();
  EXPECT_EQ(*scene, (Scene{.entities = {{"n", 5, {{"t", Bytes()}}}},
                           .relationships = {{1, 2}},
                           .prefab_refs = {{"p", 7}}}));
}

TEST(NebulaSceneRon, MessagesLeadToThePlace) {
  expect_corruption(with_entities("(name: None, stable_id: 1, components: []), 5"),
                    "field entities: item 1: expected a struct EntityData");
  expect_corruption(with_entities("(name: \"x\", stable_id: 1, components: [])"),
                    "item 0: field name: expected None or Some(text)");
  expect_corruption(with_entities("(name: Some(1), stable_id: 1, components: [])"),
                    "field name: expected a text");
  expect_corruption(with_entities("(name: None, stable_id: -1, components: [])"),
                    "field stable_id: expected an integer from 0 to");
  expect_corruption(with_entities("(name: None, stable_id: 1)"), "field components is missing");
  expect_corruption(with_entities("(name: None, stable_id: 1, components: [], scale: 2)"),
                    "item 0: unknown field scale");
  expect_corruption(with_component("(type_name: \"t\", data: Ron(5))"),
                    "field components: item 0: field data: expected a text");
  expect_corruption(with_component("(type_name: \"t\", data: Text(\"\"))"),
                    "field data: expected Ron(text) or Binary(list of bytes)");
  expect_corruption(with_component("(type_name: \"t\", data: Ron(\"a\", \"b\"))"), "expected Ron");
  expect_corruption(with_component("(type_name: \"t\", data: \"a\")"), "expected Ron");
  expect_corruption(with_component("(type_name: \"t\", data: Binary([1, 256]))"),
                    "field data: item 1: expected an integer from 0 to 255");
  expect_corruption(with_component("(type_name: \"t\", data: Binary(5))"), "expected a list");
  expect_corruption("(version: 1, entities: [], relationships: [(parent: 1)], prefab_refs: [])",
                    "field relationships: item 0: field child is missing");
  expect_corruption(
      "(version: 1, entities: [], relationships: [], prefab_refs: [ParentChild(a: 1)])",
      "field prefab_refs: item 0: expected a struct PrefabRef, found ParentChild");
  expect_corruption("(version: 1, entities: {}, relationships: [], prefab_refs: [])",
                    "field entities: expected a list");
  expect_corruption("(entities: [])", "field version is missing");
  expect_corruption("(version: 1, entities: [], relationships: [], prefab_refs: [], more: 1)",
                    "unknown field more");
  expect_corruption("()", "expected a struct SceneData");
  expect_corruption("(version: 1", "line 1");
}

TEST(NebulaSceneRon, OtherVersionsAreUnsupportedWhateverTheyHold) {
  expect_refused("SceneData(version: 2, nodes: {})", ErrorCode::unsupported, "version 2");
  expect_refused("SceneData(version: 0)", ErrorCode::unsupported, "version 0");
  expect_corruption("SceneData(version: 4294967296)", "field version: expected");
}

TEST(NebulaSceneRon, TakesABoundedMultipleOfItsText) {
  std::string list = "0";
  while (list.size() < 40'000) list += ",0";
  const std::string text = with_component("(type_name:\"\",data:Binary([" + list + "]))");
  const varve::test::AllocationWatch watch;
  EXPECT_TRUE(parse_scene(text).ok());
  EXPECT_LT(watch.peak_size(), text.size() * 256);
}

}  // namespace
}  // namespace varve::nebula
