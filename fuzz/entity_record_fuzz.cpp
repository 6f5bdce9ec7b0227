// Invariants checked: no input reads out of bounds; a record that is accepted encodes to
// exactly the same bytes; and so it does after its way through a scene.
#include "fuzz_target.h"
#include "store/nebula/scene_records.h"

namespace varve::fuzz {

bool check_input(ByteView in) {
  const auto record = nebula::decode_entity(in);
  if (!record) {
    VARVE_INVARIANT(record.error().code() == ErrorCode::corruption);
    return false;
  }
  const auto bytes = nebula::encode_entity(*record);
  VARVE_INVARIANT(bytes && equal(*bytes, in));
  nebula::SceneRecords records;
  records.records.emplace_back(5,
                               EntityValue{nebula::chunk_pos(nebula::Face::neg_z, -1, 1), *bytes});
  const auto scene = nebula::to_scene(records);
  VARVE_INVARIANT(scene);
  const auto again = nebula::to_records(*scene);
  VARVE_INVARIANT(again && *again == records);
  return true;
}

std::vector<std::string> seeds() {
  const std::vector<nebula::EntityRecord> records = {
      {},
      {.name = "", .components = {{"Pos", "(x: 0)"}}, .parents = {5}},
      {.name = "A",
       .components = {{"Pos", "(x: 0)"}, {"Blob", Bytes::copy_of("\xff")}, {"", ""}},
       .parents = {0, 5, 300, ~std::uint64_t{0}},
       .prefabs = {"ship.ron", ""}},
  };
  std::vector<std::string> out;
  for (const nebula::EntityRecord& record : records)
    out.emplace_back(nebula::encode_entity(record)->text());
  return out;
}

}  // namespace varve::fuzz
