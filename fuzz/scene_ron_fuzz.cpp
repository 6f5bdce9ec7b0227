// Invariants checked: no input reads out of bounds or overflows the stack; a refusal says
// that it is about a scene; and a scene that was read, written as text or as bytes, reads as
// an equal scene.
#include "fuzz_target.h"
#include "varve/nebula.h"

namespace varve::fuzz {

bool check_input(ByteView in) {
  const auto scene = nebula::parse_scene(as_text(in));
  if (!scene) {
    const ErrorCode code = scene.error().code();
    VARVE_INVARIANT(code == ErrorCode::corruption || code == ErrorCode::unsupported);
    VARVE_INVARIANT(scene.error().message().starts_with("scene: "));
    return false;
  }
  const auto text = nebula::write_scene(*scene);
  VARVE_INVARIANT(text);
  const auto again = nebula::parse_scene(*text);
  VARVE_INVARIANT(again && *again == *scene);
  VARVE_INVARIANT(*nebula::write_scene(*again) == *text);
  const auto bytes = nebula::encode_scene(*scene);
  VARVE_INVARIANT(bytes);
  const auto decoded = nebula::decode_scene(*bytes);
  VARVE_INVARIANT(decoded && *decoded == *scene);
  return true;
}

std::vector<std::string> seeds() {
  return {
      "(version:1,entities:[],relationships:[],prefab_refs:[])",
      "SceneData(\n  version: 1,\n  entities: [\n    EntityData(name: Some(\"A\"), stable_id: 7,\n"
      "      components: [ComponentEntry(type_name: \"T\", data: Ron(\"(x: 1)\")),\n"
      "        ComponentEntry(type_name: \"B\", data: Binary([0, 0xff,]))],\n    ),\n"
      "    EntityData(name: None, stable_id: 18446744073709551615, components: []),\n  ],\n"
      "  relationships: [ParentChild(parent: 0, child: 1)],\n"
      "  prefab_refs: [PrefabRef(path: \"p\", root_entity: 5)],\n)",
  };
}

}  // namespace varve::fuzz
