#include "store/nebula/scene_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/ron_fields.h"

namespace varve::nebula {
namespace {

// --- The components of ours ----------------------------------------------------------

Result<ron::Value> ron_of(const Component& component) {
  const auto* text = std::get_if<std::string>(&component.data);
  if (text == nullptr) return corruption("expected RON, found bytes");
  return parse_ron(*text);
}

Result<std::vector<EntityId>> read_parents(const Component& component) {
  VARVE_ASSIGN(const ron::Value value, ron_of(component));
  return items_of(value, [](const ron::Value& item) { return u64_of(item); });
}

Result<std::int32_t> coordinate(const ron::Record& record, std::string_view name, std::int32_t min,
                                std::int32_t max) {
  VARVE_ASSIGN(const std::int64_t number, field_of(record, name, [&](const ron::Value& value) {
                 return i64_of(value, min, max);
               }));
  return static_cast<std::int32_t>(number);
}

using Limits = std::numeric_limits<std::int32_t>;

Result<ChunkPos> read_owner(const Component& component) {
  VARVE_ASSIGN(const ron::Value value, ron_of(component));
  VARVE_ASSIGN(const ron::Record* record, closed_struct_of(value, "", {"face", "x", "y", "lod"}));
  VARVE_ASSIGN(const std::int32_t face, coordinate(*record, "face", 0, kFaceCount - 1));
  VARVE_ASSIGN(const std::int32_t x, coordinate(*record, "x", Limits::min(), Limits::max()));
  VARVE_ASSIGN(const std::int32_t y, coordinate(*record, "y", Limits::min(), Limits::max()));
  VARVE_ASSIGN(const std::int32_t lod, coordinate(*record, "lod", 0, 0xff));
  return ChunkPos(face, x, y, lod);
}

Component parents_component(const std::vector<EntityId>& parents) {
  return {std::string(kParentsComponent), fmt::format("[{}]", fmt::join(parents, ", "))};
}

Result<Component> owner_component(const ChunkPos& pos) {
  const bool is_place = pos.space == Space() && pos.coordinate_count == 4 && pos[0] >= 0 &&
                        pos[0] < kFaceCount && pos[3] >= 0 && pos[3] <= 0xff;
  if (!is_place) {
    return invalid_argument(fmt::format(
        "the owner {} has no face from 0 to 5, x, y and lod from 0 to 255", to_string(pos)));
  }
  return Component{std::string(kOwnerComponent), fmt::format("(face: {}, x: {}, y: {}, lod: {})",
                                                             pos[0], pos[1], pos[2], pos[3])};
}

// --- From a scene --------------------------------------------------------------------

// An entity of a scene on its way to a record.
struct Draft {
  EntityId id = 0;
  std::optional<ChunkPos> owner;
  std::optional<std::vector<EntityId>> absent_parents;
  EntityRecord record;
};

Status take_reserved(Draft& draft, const Component& component) {
  const bool is_owner = component.type_name == kOwnerComponent;
  if (is_owner ? draft.owner.has_value() : draft.absent_parents.has_value())
    return corruption("it stands twice");
  if (is_owner) {
    VARVE_ASSIGN(draft.owner, read_owner(component));
  } else {
    VARVE_ASSIGN(draft.absent_parents, read_parents(component));
  }
  return {};
}

Result<Draft> draft_of(const SceneEntity& entity) {
  Draft draft;
  draft.id = entity.stable_id;
  draft.record.name = entity.name;
  draft.record.components.reserve(entity.components.size());
  for (const Component& component : entity.components) {
    if (!is_reserved(component.type_name)) {
      draft.record.components.push_back(component);
    } else if (const Status taken = take_reserved(draft, component); !taken) {
      return taken.error().with_context(
          fmt::format("{}: component {}", entity_key(entity.stable_id), component.type_name));
    }
  }
  if (draft.absent_parents) draft.record.parents = *std::move(draft.absent_parents);
  return draft;
}

void sort_once(std::vector<EntityId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

Result<SceneRecords> to_records(const Scene& scene) {
  std::vector<Draft> drafts;
  drafts.reserve(scene.entities.size());
  for (const SceneEntity& entity : scene.entities) {
    VARVE_ASSIGN(Draft draft, draft_of(entity));
    drafts.push_back(std::move(draft));
  }
  SceneRecords out{.version = scene.version};
  for (const Relationship& relationship : scene.relationships) {
    if (relationship.parent < drafts.size() && relationship.child < drafts.size()) {
      drafts[relationship.child].record.parents.push_back(drafts[relationship.parent].id);
    } else {
      out.loose_relationships.push_back(relationship);
    }
  }
  for (const PrefabRef& prefab : scene.prefab_refs) {
    if (prefab.root_entity < drafts.size()) {
      drafts[prefab.root_entity].record.prefabs.push_back(prefab.path);
    } else {
      out.loose_prefab_refs.push_back(prefab);
    }
  }
  // Only now: places are those of the file.
  std::sort(drafts.begin(), drafts.end(),
            [](const Draft& a, const Draft& b) { return a.id < b.id; });
  out.records.reserve(drafts.size());
  for (Draft& draft : drafts) {
    if (!out.records.empty() && out.records.back().first == draft.id) {
      return corruption(fmt::format("scene: {} stands twice", entity_key(draft.id)));
    }
    sort_once(draft.record.parents);
    auto data = encode_entity(draft.record);
    if (!data) return data.error().with_context(entity_key(draft.id));
    out.records.emplace_back(draft.id, EntityValue{draft.owner, *std::move(data)});
  }
  return out;
}

// --- To a scene ----------------------------------------------------------------------

namespace {

class SceneBuilder {
 public:
  explicit SceneBuilder(const SceneRecords& from) : from_(from) {}

  Result<Scene> build() {
    scene_.version = from_.version;
    scene_.entities.reserve(count());
    for (std::size_t place = 0; place < count(); ++place) {
      const EntityId id = from_.records[place].first;
      if (place != 0 && from_.records[place - 1].first >= id) {
        return invalid_argument(fmt::format("scene: {} is out of order", entity_key(id)));
      }
      Status added = add(place);
      if (!added) return added.error().with_context(entity_key(id));
    }
    std::sort(scene_.relationships.begin(), scene_.relationships.end(),
              [](const Relationship& a, const Relationship& b) {
                return std::pair(a.parent, a.child) < std::pair(b.parent, b.child);
              });
    for (const Relationship& loose : from_.loose_relationships)
      scene_.relationships.push_back({outside(loose.parent), outside(loose.child)});
    for (const PrefabRef& loose : from_.loose_prefab_refs)
      scene_.prefab_refs.push_back({loose.path, outside(loose.root_entity)});
    return std::move(scene_);
  }

 private:
  std::size_t count() const { return from_.records.size(); }
  std::uint64_t outside(std::uint64_t place) const {
    return std::max<std::uint64_t>(place, count());
  }

  std::optional<std::size_t> place_of(EntityId id) const {
    const auto at =
        std::lower_bound(from_.records.begin(), from_.records.end(), id,
                         [](const auto& record, EntityId wanted) { return record.first < wanted; });
    if (at == from_.records.end() || at->first != id) return std::nullopt;
    return static_cast<std::size_t>(at - from_.records.begin());
  }

  Status add(std::size_t place) {
    const auto& [id, value] = from_.records[place];
    VARVE_ASSIGN(EntityRecord record, decode_entity(value.data));
    SceneEntity entity{.name = std::move(record.name),
                       .stable_id = id,
                       .components = std::move(record.components)};
    std::vector<EntityId> absent_parents;
    for (const EntityId parent : record.parents) {
      if (const auto parent_place = place_of(parent)) {
        scene_.relationships.push_back({*parent_place, place});
      } else {
        absent_parents.push_back(parent);
      }
    }
    if (!absent_parents.empty()) entity.components.push_back(parents_component(absent_parents));
    if (value.owner) {
      VARVE_ASSIGN(Component owner, owner_component(*value.owner));
      entity.components.push_back(std::move(owner));
    }
    for (std::string& path : record.prefabs) scene_.prefab_refs.push_back({std::move(path), place});
    scene_.entities.push_back(std::move(entity));
    return {};
  }

  const SceneRecords& from_;
  Scene scene_;
};

}  // namespace

Result<Scene> to_scene(const SceneRecords& records) { return SceneBuilder(records).build(); }

// --- For games and tools -------------------------------------------------------------

namespace {

Result<std::vector<EntityChange>> changes_of(const Scene& scene) {
  VARVE_ASSIGN(SceneRecords records, to_records(scene));
  if (!records.loose_relationships.empty()) {
    const Relationship& loose = records.loose_relationships.front();
    return corruption(fmt::format("scene: a relation of {} and {}, there are {} entities",
                                  loose.parent, loose.child, scene.entities.size()));
  }
  if (!records.loose_prefab_refs.empty()) {
    const PrefabRef& loose = records.loose_prefab_refs.front();
    return corruption(fmt::format("scene: prefab {} has its root at {}, there are {} entities",
                                  loose.path, loose.root_entity, scene.entities.size()));
  }
  std::vector<EntityChange> changes;
  changes.reserve(records.records.size());
  for (auto& [id, value] : records.records) changes.push_back({id, std::move(value)});
  return changes;
}

Result<Scene> scene_of(const StoreView& view) {
  SceneRecords records;
  Status read;
  VARVE_TRY(view.list_entities({}, [&](const EntityInfo& info) {
    auto entity = view.read_entity(info.id);
    if (!entity) {
      read = entity.error().with_context(entity_key(info.id));
      return false;
    }
    // Without one, a commit since the listing began has erased it.
    if (*entity) {
      records.records.emplace_back(
          info.id, EntityValue{std::move((*entity)->owner), std::move((*entity)->data)});
    }
    return true;
  }));
  VARVE_TRY(read);
  return to_scene(records);
}

}  // namespace

Result<std::vector<EntityChange>> to_changes(const Scene& scene) {
  return or_out_of_memory([&] { return changes_of(scene); });
}

Result<Scene> to_scene(const StoreView& view) {
  return or_out_of_memory([&] { return scene_of(view); });
}

}  // namespace varve::nebula
