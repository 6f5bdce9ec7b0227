// Invariants checked: no input reads out of bounds; a scene that was read, written as bytes
// or as text, reads as an equal scene; and records that were made of it are the same again
// after every way through a file.
#include "fuzz_target.h"
#include "store/nebula/scene_records.h"

namespace varve::fuzz {
namespace {

// Loose references keep their meaning, not their places.
void check_records(const nebula::Scene& scene) {
  const auto records = nebula::to_records(scene);
  if (!records) {
    VARVE_INVARIANT(records.error().code() == ErrorCode::corruption);
    VARVE_INVARIANT(!nebula::to_changes(scene));
    return;
  }
  const auto ours = nebula::to_scene(*records);
  VARVE_INVARIANT(ours);
  const auto again = nebula::to_records(*ours);
  VARVE_INVARIANT(again && again->records == records->records);
  VARVE_INVARIANT(again->loose_relationships.size() == records->loose_relationships.size());
  VARVE_INVARIANT(again->loose_prefab_refs.size() == records->loose_prefab_refs.size());
  const auto bytes = nebula::encode_scene(*ours);
  VARVE_INVARIANT(bytes);
  const auto through_file = nebula::decode_scene(*bytes);
  VARVE_INVARIANT(through_file && *through_file == *ours);
  VARVE_INVARIANT(nebula::to_scene(*again).value() == *ours);
}

}  // namespace

bool check_input(ByteView in) {
  const auto scene = nebula::decode_scene(in);
  if (!scene) {
    const ErrorCode code = scene.error().code();
    VARVE_INVARIANT(code == ErrorCode::corruption || code == ErrorCode::unsupported);
    return false;
  }
  const auto bytes = nebula::encode_scene(*scene);
  VARVE_INVARIANT(bytes && bytes->size() <= in.size());
  const auto again = nebula::decode_scene(*bytes);
  VARVE_INVARIANT(again && *again == *scene);
  const auto text = nebula::write_scene(*scene);
  VARVE_INVARIANT(text);
  const auto parsed = nebula::parse_scene(*text);
  VARVE_INVARIANT(parsed && *parsed == *scene);
  check_records(*scene);
  return true;
}

std::vector<std::string> seeds() {
  const std::vector<nebula::Scene> scenes = {
      {},
      {.entities = {{"Ship", 5, {{"Pos", "(x: 0)"}, {"Blob", Bytes::copy_of("\xff")}}},
                    {std::nullopt,
                     300,
                     {{"varve.parents", "[9]"},
                      {"varve.owner", "(face: 0, x: 3, y: -2, lod: 0)"}}}},
       .relationships = {{0, 1}, {1, 1}, {7, 0}},
       .prefab_refs = {{"ship.ron", 0}, {"", 99}}},
  };
  std::vector<std::string> out;
  for (const nebula::Scene& scene : scenes) out.emplace_back(nebula::encode_scene(scene)->text());
  return out;
}

}  // namespace varve::fuzz
