// Invariants checked: no input reads out of bounds; a set that is accepted has values that
// lie inside its input, in rising order of ids, and encodes to exactly the same bytes.
#include <functional>

#include "fuzz_target.h"
#include "varve/components.h"

namespace varve::fuzz {

bool check_input(ByteView in) {
  const Bytes data = Bytes::copy_of(in);
  const auto set = ComponentSet::decode(data);
  if (!set) return false;
  VARVE_INVARIANT(set->count() <= in.size() / 2);
  const std::byte* previous_end = data.data();
  ComponentId previous = 0;
  for (const auto& [id, value] : *set) {
    VARVE_INVARIANT(id > previous && set->find(id) == &value);
    VARVE_INVARIANT(std::less<>()(previous_end, value.data()));
    previous = id;
    previous_end = value.data() + value.size();
  }
  VARVE_INVARIANT(!std::less<>()(data.data() + data.size(), previous_end));
  const auto again = set->encode();
  VARVE_INVARIANT(again && *again == data);
  return true;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  ComponentSet set;
  for (const ComponentId id : {1u, 2u, 127u, 128u, 70'000u, 0xffff'ffffu}) {
    out.emplace_back(set.encode()->text());
    set.put(id, Bytes::copy_of(std::string(id % 130, 'v')));
  }
  out.emplace_back(set.encode()->text());
  return out;
}

}  // namespace varve::fuzz
