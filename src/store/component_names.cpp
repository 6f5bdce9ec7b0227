#include <fmt/format.h>

#include "base/byte_writer.h"
#include "base/try.h"
#include "codec/varint.h"
#include "varve/components.h"
#include "varve/key.h"

namespace varve {
namespace {

constexpr std::uint8_t kTableVersion = 1;
constexpr ComponentId kIdMax = ~ComponentId{0};

// One after the largest, so that an id that a set still has and no table names is not
// given to another component. Only when there is none left it is the first gap.
ComponentId free_id(const std::map<ComponentId, std::string>& names) {
  if (names.empty()) return 1;
  if (names.rbegin()->first != kIdMax) return names.rbegin()->first + 1;
  ComponentId id = 1;
  for (const auto& [taken, name] : names) {
    if (taken != id) break;
    ++id;
  }
  return id;
}

}  // namespace

// docs/formats/components_v1.md#component-table. Keep the fields, the rules and that page in step.
Result<ComponentNames> ComponentNames::decode(ByteView table) {
  ByteReader r(table);
  const std::uint8_t version = r.u8();
  if (r.ok() && version != kTableVersion) {
    return corruption(
        fmt::format("component table: version {}, expected version {}", version, kTableVersion));
  }
  // An entry takes an id, a size and a character at the least.
  const std::size_t count = r.count(minimal_varint(r, kIdMax), 3);
  ComponentNames names;
  ComponentId previous = 0;
  for (std::size_t i = 0; i < count && r.ok(); ++i) {
    const auto id = static_cast<ComponentId>(minimal_varint(r, kIdMax));
    if (id <= previous) r.fail("component ids do not rise");
    const std::string_view name = as_text(r.bytes(minimal_varint(r, kNameSizeMax)));
    if (!r.ok()) break;
    if (const Status good = check_name(name); !good) {
      return corruption(
          fmt::format("component table: component {}: {}", id, good.error().message()));
    }
    if (!names.add_as(id, name)) r.fail("two component ids have one name");
    previous = id;
  }
  VARVE_TRY(r.finish("component table"));
  return names;
}

Bytes ComponentNames::encode() const {
  ByteWriter out;
  out.u8(kTableVersion);
  out.varint(names_.size());
  for (const auto& [id, name] : names_) {
    out.varint(id);
    out.varint(name.size());
    out.text(name);
  }
  return out.take();
}

std::string_view ComponentNames::name_of(ComponentId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view() : found->second;
}

std::optional<ComponentId> ComponentNames::id_of(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

Result<ComponentId> ComponentNames::add(std::string_view name) {
  if (const Status good = check_name(name); !good) return good.error().with_context("component");
  if (const auto known = id_of(name)) return *known;
  const ComponentId id = free_id(names_);
  add_as(id, name);
  return id;
}

bool ComponentNames::add_as(ComponentId id, std::string_view name) {
  if (names_.contains(id) || ids_.contains(name)) return false;
  ids_.emplace(name, id);
  names_.emplace(id, name);
  return true;
}

}  // namespace varve
