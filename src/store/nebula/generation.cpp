#include "store/nebula/generation.h"

#include "base/try.h"
#include "store/nebula/save_files.h"
#include "store/nebula/scene_records.h"

namespace varve::nebula {

Result<SceneContents> decode_scene_file(ByteView file) {
  VARVE_ASSIGN(const Scene scene, decode_scene(file));
  VARVE_ASSIGN(SceneRecords records, to_records(scene));
  SceneContents contents{.version = records.version,
                         .loose_relationships = std::move(records.loose_relationships),
                         .loose_prefab_refs = std::move(records.loose_prefab_refs)};
  const MapEdit edit;
  auto tables = std::make_shared<RecordTables>();
  for (auto& [id, value] : records.records) tables->put_entity(edit, id, std::move(value));
  contents.tables = std::move(tables);
  return contents;
}

Result<Bytes> encode_scene_file(const SceneContents& scene) {
  SceneRecords records{.version = scene.version,
                       .records = {},
                       .loose_relationships = scene.loose_relationships,
                       .loose_prefab_refs = scene.loose_prefab_refs};
  records.records.reserve(scene.tables->entities.size());
  scene.tables->entities.visit([&](EntityId id, const EntityValue& value) {
    records.records.emplace_back(id, value);
    return true;
  });
  VARVE_ASSIGN(const Scene made, to_scene(records));
  return encode_scene(made);
}

Result<SceneContents> load_scene(Vfs& vfs, const SaveLayout& layout, const SaveIndex& index) {
  if (!index.scene) return SceneContents{};
  const auto damaged = [](Error error) {
    SceneContents contents;
    contents.damage = std::move(error);
    return contents;
  };
  const auto file = read_payload(vfs, layout, scene_key(), *index.scene);
  if (!file && file.error().code() == ErrorCode::corruption) return damaged(file.error());
  if (!file) return file.error();
  auto contents = decode_scene_file(*file);
  if (contents) return contents;
  const ErrorCode code = contents.error().code();
  // Memory that ran out says nothing about the file.
  if (code != ErrorCode::corruption && code != ErrorCode::unsupported) return contents.error();
  // A scene of the future is no reason to keep a game from its chunks.
  return damaged(contents.error().with_context(layout.file(scene_key())));
}

}  // namespace varve::nebula
