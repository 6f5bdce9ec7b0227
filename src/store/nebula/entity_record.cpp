#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/component_codec.h"
#include "store/nebula/scene_records.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

// What neither a writer may make nor a reader accept; nullptr if there is nothing.
const char* problem_of(const EntityRecord& record) {
  for (const Component& component : record.components) {
    if (is_reserved(component.type_name)) return "a component has a reserved name";
  }
  const bool rises = std::adjacent_find(record.parents.begin(), record.parents.end(),
                                        std::greater_equal<>()) == record.parents.end();
  return rises ? nullptr : "the parents do not rise";
}

void write_record(ByteWriter& out, const EntityRecord& record) {
  PostcardWriter w(out);
  write_name(w, record.name);
  write_components(w, record.components);
  w.sequence(record.parents.size());
  for (const EntityId parent : record.parents) w.u64(parent);
  w.sequence(record.prefabs.size());
  for (const std::string& path : record.prefabs) w.text(path);
}

Result<Bytes> record_bytes(const EntityRecord& record) {
  if (const char* problem = problem_of(record)) {
    return invalid_argument(fmt::format("entity record: {}", problem));
  }
  ByteWriter out;
  write_record(out, record);
  if (!out.ok()) return invalid_argument("entity record: a text is not UTF-8");
  return out.take();
}

// docs/formats/nebula_v1.md#entity-records. Keep the field order and that table in step.
Result<EntityRecord> read_record(ByteView data) {
  PostcardReader p(data);
  EntityRecord record;
  record.name = read_name(p);
  record.components = read_components(p);
  record.parents.resize(p.sequence());
  for (EntityId& parent : record.parents) parent = p.u64();
  record.prefabs.resize(p.sequence());
  for (std::string& path : record.prefabs) path = p.text();
  VARVE_TRY(p.finish("entity record"));
  if (const char* problem = problem_of(record)) {
    return corruption(fmt::format("entity record: {}", problem));
  }
  // postcard reads integers that are longer than they have to be. A record has one spelling,
  // or it would come back from a scene as other bytes and look changed.
  ByteWriter again;
  again.reserve(data.size());
  write_record(again, record);
  if (!equal(again.view(), data)) {
    return corruption("entity record: an integer is longer than it has to be");
  }
  return record;
}

}  // namespace

bool is_reserved(std::string_view type_name) noexcept {
  return type_name == kParentsComponent || type_name == kOwnerComponent;
}

Result<Bytes> encode_entity(const EntityRecord& record) {
  return or_out_of_memory([&] { return record_bytes(record); });
}

Result<EntityRecord> decode_entity(ByteView data) {
  return or_out_of_memory([&] { return read_record(data); });
}

}  // namespace varve::nebula
