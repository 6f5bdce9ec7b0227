#include "store/nebula/sample_scene.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace varve::nebula::test {

Scene example_scene() {
  const std::byte health[] = {std::byte{0x50}, std::byte{0xff}};
  return {.entities = {{"Ship", 5, {{"WorldPos", "(x: 0)"}}},
                       {std::nullopt,
                        300,
                        {{"Health", Bytes::copy_of(health)},
                         {"varve.parents", "[9]"},
                         {"varve.owner", "(face: 0, x: 3, y: -2, lod: 0)"}}}},
          .relationships = {{0, 1}},
          .prefab_refs = {{"ship.ron", 0}}};
}

rc::Gen<std::string> any_text() {
  return rc::gen::element<std::string>(
      "", "a", "WorldPos", "varve", "varve.other", "(x: 0, y: \"\\n\")", "caf\xc3\xa9 \n\t\"'\\",
      "\xf0\x9f\x8c\x8d", std::string(200, 'x'), std::string("\0\x01\x7f", 3));
}

rc::Gen<std::vector<Component>> any_components() {
  const auto component = rc::gen::exec([] {
    Component out{.type_name = *any_text()};
    if (*rc::gen::arbitrary<bool>()) {
      out.data = *any_text();
    } else {
      out.data = Bytes::copy_of(*rc::gen::arbitrary<std::string>());
    }
    return out;
  });
  return rc::gen::resize(4, rc::gen::container<std::vector<Component>>(component));
}

rc::Gen<EntityRecord> any_record() {
  return rc::gen::exec([] {
    EntityRecord out;
    if (*rc::gen::arbitrary<bool>()) out.name = *any_text();
    out.components = *any_components();
    const auto id = rc::gen::oneOf(rc::gen::inRange<EntityId>(0, 12),
                                   rc::gen::just(std::numeric_limits<EntityId>::max()));
    const auto parents = *rc::gen::resize(5, rc::gen::container<std::set<EntityId>>(id));
    out.parents.assign(parents.begin(), parents.end());
    out.prefabs = *rc::gen::resize(3, rc::gen::container<std::vector<std::string>>(any_text()));
    return out;
  });
}

namespace {

rc::Gen<std::optional<ChunkPos>> any_owner() {
  return rc::gen::exec([]() -> std::optional<ChunkPos> {
    if (*rc::gen::arbitrary<bool>()) return std::nullopt;
    const auto coordinate = rc::gen::element(0, -1, 7, std::numeric_limits<std::int32_t>::min(),
                                             std::numeric_limits<std::int32_t>::max());
    return chunk_pos(static_cast<Face>(*rc::gen::inRange(0, kFaceCount)), *coordinate, *coordinate,
                     *rc::gen::arbitrary<std::uint8_t>());
  });
}

}  // namespace

rc::Gen<SceneRecords> any_scene_records() {
  return rc::gen::exec([] {
    SceneRecords out;
    const auto id = rc::gen::oneOf(rc::gen::inRange<EntityId>(0, 12),
                                   rc::gen::just(std::numeric_limits<EntityId>::max()));
    for (const EntityId each : *rc::gen::resize(8, rc::gen::container<std::set<EntityId>>(id)))
      out.records.emplace_back(each,
                               EntityValue{*any_owner(), encode_entity(*any_record()).value()});
    const std::uint64_t count = out.records.size();
    const auto outside = rc::gen::map(rc::gen::inRange(0, 300), [count](int by) {
      return by == 299 ? ~std::uint64_t{0} : count + static_cast<std::uint64_t>(by);
    });
    for (int left = *rc::gen::inRange(0, 3); left > 0; --left)
      out.loose_relationships.push_back({*outside, *outside});
    for (int left = *rc::gen::inRange(0, 3); left > 0; --left)
      out.loose_prefab_refs.push_back({*any_text(), *outside});
    return out;
  });
}

}  // namespace varve::nebula::test
