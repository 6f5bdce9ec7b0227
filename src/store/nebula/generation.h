// One generation of a nebula save: its files, and its entities, which are in memory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "io/vfs.h"
#include "store/nebula/save_index.h"
#include "store/record_tables.h"
#include "varve/nebula.h"

namespace varve::nebula {

// What entities.bin holds. It is read and written whole.
struct SceneContents {
  // Only its entities are used.
  SharedTables tables = std::make_shared<const RecordTables>();
  std::uint32_t version = kSceneVersion;
  // What no entity can hold; see SceneRecords.
  std::vector<Relationship> loose_relationships = {};
  std::vector<PrefabRef> loose_prefab_refs = {};
  // Why it could not be read. There are no entities then.
  std::optional<Error> damage = {};
};

Result<SceneContents> decode_scene_file(ByteView file);
Result<Bytes> encode_scene_file(const SceneContents& scene);

// The scene of a save. Damage is in the contents; an error means that the disk failed.
Result<SceneContents> load_scene(Vfs& vfs, const SaveLayout& layout, const SaveIndex& index);

struct Generation {
  SaveIndex files = {};
  std::shared_ptr<const SceneContents> scene = std::make_shared<const SceneContents>();
};

using SharedGeneration = std::shared_ptr<const Generation>;

}  // namespace varve::nebula
