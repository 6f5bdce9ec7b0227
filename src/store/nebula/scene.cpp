#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/component_codec.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

constexpr std::string_view kMagic = "NSCD";

// The least an item takes, which bounds what a count may make us reserve.
constexpr std::size_t kEntitySizeMin = 3;
constexpr std::size_t kRelationshipSizeMin = 2;
constexpr std::size_t kPrefabRefSizeMin = 2;

SceneEntity read_entity(PostcardReader& p) {
  SceneEntity entity;
  entity.name = read_name(p);
  entity.stable_id = p.u64();
  entity.components = read_components(p);
  return entity;
}

// docs/formats/nebula_v1.md#entitiesbin. Keep the field order and that table in step.
Result<Scene> read_scene(ByteView nscd) {
  PostcardReader p(nscd);
  p.bytes_below().expect(kMagic);
  Scene scene{.version = p.u32()};
  VARVE_TRY(p.status("scene"));
  // Before anything else is read: the fields of another version are not these.
  if (scene.version == 0 || scene.version > kSceneVersion) {
    return unsupported(
        fmt::format("scene: version {}, this build reads 1 to {}", scene.version, kSceneVersion));
  }
  const std::size_t entity_count = p.sequence(kEntitySizeMin);
  scene.entities.reserve(entity_count);
  while (p.ok() && scene.entities.size() < entity_count) scene.entities.push_back(read_entity(p));
  VARVE_TRY(p.status("scene: entities"));
  scene.relationships.resize(p.sequence(kRelationshipSizeMin));
  for (Relationship& relationship : scene.relationships) {
    relationship.parent = p.usize();
    relationship.child = p.usize();
  }
  scene.prefab_refs.resize(p.sequence(kPrefabRefSizeMin));
  for (PrefabRef& prefab : scene.prefab_refs) {
    prefab.path = p.text();
    prefab.root_entity = p.usize();
  }
  VARVE_TRY(p.finish("scene"));
  return scene;
}

Result<Bytes> scene_bytes(const Scene& scene) {
  if (scene.version != kSceneVersion) {
    return invalid_argument(
        fmt::format("scene: version {} cannot be written, only {}", scene.version, kSceneVersion));
  }
  ByteWriter out;
  out.text(kMagic);
  PostcardWriter w(out);
  w.u32(scene.version);
  w.sequence(scene.entities.size());
  for (const SceneEntity& entity : scene.entities) {
    write_name(w, entity.name);
    w.u64(entity.stable_id);
    write_components(w, entity.components);
    if (!out.ok()) {
      return invalid_argument(
          fmt::format("scene: entity {}: a text is not UTF-8", entity.stable_id));
    }
  }
  w.sequence(scene.relationships.size());
  for (const Relationship& relationship : scene.relationships) {
    w.usize(relationship.parent);
    w.usize(relationship.child);
  }
  w.sequence(scene.prefab_refs.size());
  for (const PrefabRef& prefab : scene.prefab_refs) {
    w.text(prefab.path);
    w.usize(prefab.root_entity);
  }
  if (!out.ok()) return invalid_argument("scene: the path of a prefab is not UTF-8");
  return out.take();
}

}  // namespace

Result<Scene> decode_scene(ByteView nscd) {
  return or_out_of_memory([&] { return read_scene(nscd); });
}

Result<Bytes> encode_scene(const Scene& scene) {
  return or_out_of_memory([&] { return scene_bytes(scene); });
}

}  // namespace varve::nebula
