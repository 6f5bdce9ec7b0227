// Scenes as records of a store, and back. Memory that runs out is thrown here, not returned.
//
// A scene names entities by their places in its list, a store by their stable ids. What a
// scene has no word for is kept in components of ours, which the original program carries
// along without a look:
//
//   varve.parents   [5, 7]                              parents that are not in the scene
//   varve.owner     (face: 0, x: 3, y: -2, lod: 0)      the chunk the entity stands in
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "varve/nebula.h"
#include "varve/result.h"
#include "varve/store.h"

namespace varve::nebula {

inline constexpr std::string_view kParentsComponent = "varve.parents";
inline constexpr std::string_view kOwnerComponent = "varve.owner";
// Whether no component of an entity record may have this name.
bool is_reserved(std::string_view type_name) noexcept;

// The entities of a scene as the records of a store, and what no record can hold.
struct SceneRecords {
  std::uint32_t version = kSceneVersion;
  // Sorted by id. EntityValue::data is what encode_entity() makes.
  std::vector<std::pair<EntityId, EntityValue>> records = {};
  // Relations and prefabs that name a place outside the list. They mean nothing, but they
  // are somebody's: they stay in the file.
  std::vector<Relationship> loose_relationships = {};
  std::vector<PrefabRef> loose_prefab_refs = {};

  friend bool operator==(const SceneRecords&, const SceneRecords&) = default;
};

// Corruption: an id that stands twice, or a varve.* component that is not as above. A
// relation that is said twice is one.
Result<SceneRecords> to_records(const Scene& scene);

// Equal records give equal scenes: entities by id, relations by parent and child. Places of
// loose references that lie inside the list by now are moved behind its end, since they
// would point at an entity they never meant. Corruption if the data of a record is no
// entity record; invalid_argument if ids do not rise or an owner is no place in this format.
//
// to_records() of what it returns gives the same records again.
Result<Scene> to_scene(const SceneRecords& records);

}  // namespace varve::nebula
