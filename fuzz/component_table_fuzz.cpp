// Invariants checked: no input reads out of bounds; a table that is accepted is what the
// registry writes again; and one that is taken over by a registry with components of its
// own leaves each name with one id and each id with one name.
#include "fuzz_target.h"
#include "varve/components.h"

namespace varve::fuzz {
namespace {

template <int kind>
struct Component {};

template <int kind>
void add(ComponentRegistry& registry, std::string_view name) {
  VARVE_INVARIANT(registry.add<Component<kind>>(
      name, [](const auto&) { return Bytes(); }, [](const Bytes&) { return Component<kind>(); }));
}

}  // namespace

bool check_input(ByteView in) {
  const Bytes table = Bytes::copy_of(in);
  ComponentRegistry plain;
  const bool is_accepted = plain.adopt_table(table).ok();
  VARVE_INVARIANT(plain.table() == (is_accepted ? table : ComponentRegistry().table()));

  ComponentRegistry own;
  add<1>(own, "a");
  add<2>(own, "b");
  add<3>(own, "health");
  VARVE_INVARIANT(own.adopt_table(table).ok() == is_accepted);
  add<4>(own, "late");
  for (const std::string_view name : {"a", "b", "health", "late"}) {
    VARVE_INVARIANT(own.name_of(own.id_of(name).value()) == name);
    if (const auto id = plain.id_of(name)) VARVE_INVARIANT(own.id_of(name) == id);
  }
  ComponentRegistry reader;
  VARVE_INVARIANT(reader.adopt_table(own.table()) && reader.table() == own.table());
  return is_accepted;
}

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  return {
      "\x01\x00"s,
      "\x01\x01\x01\x01x"s,
      "\x01\x03\x01\x06health\x02\x01q\xac\x02\x05stone"s,
      "\x01\x02\x02\x01\x61\xff\xff\xff\xff\x0f\x04late"s,
  };
}

}  // namespace varve::fuzz
