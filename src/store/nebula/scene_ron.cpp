#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/ron_fields.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

constexpr std::string_view kWhat = "scene";

// --- Reading -------------------------------------------------------------------------

Result<std::uint64_t> any_u64(const ron::Value& value) { return u64_of(value); }

Result<std::optional<std::string>> read_name(const ron::Value& value) {
  const auto* option = value.as<ron::Option>();
  if (option == nullptr) return corruption("expected None or Some(text)");
  if (option->value.empty()) return std::optional<std::string>();
  VARVE_ASSIGN(std::string name, text_of(option->value.front()));
  return std::optional(std::move(name));
}

Result<Bytes> read_binary(const ron::Value& value) {
  VARVE_ASSIGN(const ron::List* list, list_of(value));
  Buffer out(list->items.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = u64_of(list->items[i], 0xff);
    if (!byte) return byte.error().with_context(fmt::format("item {}", i));
    out.span()[i] = static_cast<std::byte>(*byte);
  }
  return std::move(out).freeze();
}

Result<std::variant<std::string, Bytes>> read_data(const ron::Value& value) {
  const auto* variant = value.as<ron::Tuple>();
  if (variant != nullptr && variant->items.size() == 1) {
    const ron::Value& inner = variant->items.front();
    if (variant->name == "Ron") {
      VARVE_ASSIGN(std::string text, text_of(inner));
      return std::variant<std::string, Bytes>(std::move(text));
    }
    if (variant->name == "Binary") {
      VARVE_ASSIGN(Bytes bytes, read_binary(inner));
      return std::variant<std::string, Bytes>(std::move(bytes));
    }
  }
  return corruption("expected Ron(text) or Binary(list of bytes)");
}

Result<Component> read_component(const ron::Value& value) {
  VARVE_ASSIGN(const ron::Record* record,
               closed_struct_of(value, "ComponentEntry", {"type_name", "data"}));
  Component component;
  VARVE_ASSIGN(component.type_name, field_of(*record, "type_name", text_of));
  VARVE_ASSIGN(component.data, field_of(*record, "data", read_data));
  return component;
}

Result<std::vector<Component>> read_components(const ron::Value& value) {
  return items_of(value, read_component);
}

Result<SceneEntity> read_entity(const ron::Value& value) {
  VARVE_ASSIGN(const ron::Record* record,
               closed_struct_of(value, "EntityData", {"name", "stable_id", "components"}));
  SceneEntity entity;
  VARVE_ASSIGN(entity.name, field_of(*record, "name", read_name));
  VARVE_ASSIGN(entity.stable_id, field_of(*record, "stable_id", any_u64));
  VARVE_ASSIGN(entity.components, field_of(*record, "components", read_components));
  return entity;
}

Result<Relationship> read_relationship(const ron::Value& value) {
  VARVE_ASSIGN(const ron::Record* record,
               closed_struct_of(value, "ParentChild", {"parent", "child"}));
  Relationship relationship;
  VARVE_ASSIGN(relationship.parent, field_of(*record, "parent", any_u64));
  VARVE_ASSIGN(relationship.child, field_of(*record, "child", any_u64));
  return relationship;
}

Result<PrefabRef> read_prefab_ref(const ron::Value& value) {
  VARVE_ASSIGN(const ron::Record* record,
               closed_struct_of(value, "PrefabRef", {"path", "root_entity"}));
  PrefabRef prefab;
  VARVE_ASSIGN(prefab.path, field_of(*record, "path", text_of));
  VARVE_ASSIGN(prefab.root_entity, field_of(*record, "root_entity", any_u64));
  return prefab;
}

Result<std::uint32_t> read_version(const ron::Value& value) {
  VARVE_ASSIGN(const std::uint64_t version, u64_of(value, 0xffff'ffff));
  return static_cast<std::uint32_t>(version);
}

Result<Scene> read_scene(const ron::Value& value) {
  VARVE_ASSIGN(const ron::Record* any, struct_of(value, "SceneData"));
  Scene scene;
  VARVE_ASSIGN(scene.version, field_of(*any, "version", read_version));
  // Before anything else is read: the fields of another version are not these.
  if (scene.version == 0 || scene.version > kSceneVersion) {
    return unsupported(
        fmt::format("version {}, this build reads 1 to {}", scene.version, kSceneVersion));
  }
  VARVE_ASSIGN(const ron::Record* record,
               closed_struct_of(value, "SceneData",
                                {"version", "entities", "relationships", "prefab_refs"}));
  VARVE_ASSIGN(scene.entities, field_of(*record, "entities", [](const ron::Value& v) {
                 return items_of(v, read_entity);
               }));
  VARVE_ASSIGN(scene.relationships, field_of(*record, "relationships", [](const ron::Value& v) {
                 return items_of(v, read_relationship);
               }));
  VARVE_ASSIGN(scene.prefab_refs, field_of(*record, "prefab_refs", [](const ron::Value& v) {
                 return items_of(v, read_prefab_ref);
               }));
  return scene;
}

// --- Writing -------------------------------------------------------------------------

ron::Value integer(std::uint64_t value) { return {ron::Integer::of(value)}; }

template <class T, class Make>
ron::Value list(const std::vector<T>& items, const Make& make) {
  ron::List out;
  out.items.reserve(items.size());
  for (const T& item : items) out.items.push_back(make(item));
  return {std::move(out)};
}

ron::Value value_of(const Component& component) {
  ron::Tuple data;
  if (const auto* text = std::get_if<std::string>(&component.data)) {
    data.name = "Ron";
    data.items.push_back({*text});
  } else {
    data.name = "Binary";
    ron::List bytes;
    for (const std::byte b : std::get<Bytes>(component.data).view())
      bytes.items.push_back(integer(std::to_integer<std::uint64_t>(b)));
    data.items.push_back({std::move(bytes)});
  }
  return {ron::Record{"ComponentEntry",
                      {{"type_name", {component.type_name}}, {"data", {std::move(data)}}}}};
}

ron::Value value_of(const SceneEntity& entity) {
  ron::Option name;
  if (entity.name) name.value.push_back({*entity.name});
  return {ron::Record{"EntityData",
                      {{"name", {std::move(name)}},
                       {"stable_id", integer(entity.stable_id)},
                       {"components", list(entity.components, [](const Component& component) {
                          return value_of(component);
                        })}}}};
}

ron::Value value_of(const Scene& scene) {
  const auto entity = [](const SceneEntity& e) { return value_of(e); };
  const auto relationship = [](const Relationship& r) {
    return ron::Value{
        ron::Record{"ParentChild", {{"parent", integer(r.parent)}, {"child", integer(r.child)}}}};
  };
  const auto prefab_ref = [](const PrefabRef& p) {
    return ron::Value{
        ron::Record{"PrefabRef", {{"path", {p.path}}, {"root_entity", integer(p.root_entity)}}}};
  };
  return {ron::Record{"SceneData",
                      {{"version", integer(scene.version)},
                       {"entities", list(scene.entities, entity)},
                       {"relationships", list(scene.relationships, relationship)},
                       {"prefab_refs", list(scene.prefab_refs, prefab_ref)}}}};
}

}  // namespace

Result<Scene> parse_scene(std::string_view ron) {
  return or_out_of_memory([&]() -> Result<Scene> {
    const auto value = parse_ron(ron);
    if (!value) return value.error().with_context(kWhat);
    auto scene = read_scene(*value);
    if (!scene) return scene.error().with_context(kWhat);
    return scene;
  });
}

Result<std::string> write_scene(const Scene& scene) {
  return or_out_of_memory([&]() -> Result<std::string> {
    if (scene.version != kSceneVersion) {
      return invalid_argument(fmt::format("scene: version {} cannot be written, only {}",
                                          scene.version, kSceneVersion));
    }
    auto text = ron::write_pretty(value_of(scene));
    if (!text) return text.error().with_context(kWhat);
    return text;
  });
}

}  // namespace varve::nebula
