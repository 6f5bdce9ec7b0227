#include <fmt/format.h>

#include <set>

#include "base/byte_writer.h"
#include "base/guarded.h"
#include "base/try.h"
#include "codec/varint.h"
#include "varve/components.h"
#include "varve/key.h"

namespace varve {
namespace {

constexpr std::uint8_t kTableVersion = 1;
constexpr ComponentId kIdMax = ~ComponentId{0};

using Ids = std::map<std::string, ComponentId, std::less<>>;
using Names = std::map<ComponentId, std::string>;

// One after the largest, so that an id that a set still has and no table names is not
// given to another component. Only when there is none left it is the first gap.
ComponentId free_id(const Names& names) {
  if (names.empty()) return 1;
  if (names.rbegin()->first != kIdMax) return names.rbegin()->first + 1;
  ComponentId id = 1;
  for (const auto& [taken, name] : names) {
    if (taken != id) break;
    ++id;
  }
  return id;
}

// docs/formats/components_v1.md#component-table. Keep the fields, the rules and that page in
// step.
Result<Names> decode_table(ByteView table) {
  ByteReader r(table);
  const std::uint8_t version = r.u8();
  if (r.ok() && version != kTableVersion) {
    return corruption(
        fmt::format("component table: version {}, expected version {}", version, kTableVersion));
  }
  // An entry takes an id, a size and a character at the least.
  const std::size_t count = r.count(minimal_varint(r, kIdMax), 3);
  Names names;
  std::set<std::string_view> seen;
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
    if (!seen.insert(name).second) r.fail("two component ids have one name");
    names.emplace_hint(names.end(), id, name);
    previous = id;
  }
  VARVE_TRY(r.finish("component table"));
  return names;
}

// Calls what the game gave us for a component. Errors name it, returned or thrown.
template <class Call>
auto call_for(std::string_view name, ErrorCode code, const Call& call) -> decltype(call()) {
  const auto context = [&] { return fmt::format("component {}", name); };
  return guarded(code, context, [&]() -> decltype(call()) {
    auto result = call();
    if (!result) return result.error().with_context(context());
    return result;
  });
}

Error not_registered(std::type_index type) {
  return invalid_argument(fmt::format("component type {} is not registered", type.name()));
}

}  // namespace

Result<ComponentId> ComponentRegistry::add_type(std::string_view name, std::type_index type,
                                                Encode encode, Decode decode) {
  if (const Status good = check_name(name); !good) return good.error().with_context("component");
  for (const auto& [other_type, other] : types_) {
    if (other.name == name) {
      return invalid_argument(fmt::format("component {} is registered already", name));
    }
    if (other_type == type) {
      return invalid_argument(
          fmt::format("component {} has the type that {} has already", name, other.name));
    }
  }
  // A name of an adopted table has its id.
  ComponentId id = id_of(name).value_or(0);
  if (id == 0) {
    id = free_id(names_);
    names_.emplace(id, name);
    ids_.emplace(name, id);
  }
  types_.emplace(type, Type{std::string(name), std::move(encode), std::move(decode)});
  return id;
}

Status ComponentRegistry::put_value(ComponentSet& set, std::type_index type,
                                    const void* value) const {
  const auto found = types_.find(type);
  if (found == types_.end()) return not_registered(type);
  const auto& [name, encode, decode] = found->second;
  VARVE_ASSIGN(Bytes bytes, call_for(name, ErrorCode::invalid_argument,
                                     [&encode = encode, value] { return encode(value); }));
  set.put(ids_.find(name)->second, std::move(bytes));
  return {};
}

Result<std::any> ComponentRegistry::get_value(const ComponentSet& set, std::type_index type) const {
  const auto found = types_.find(type);
  if (found == types_.end()) return not_registered(type);
  const auto& [name, encode, decode] = found->second;
  const Bytes* bytes = set.find(ids_.find(name)->second);
  if (bytes == nullptr) return std::any();
  return call_for(name, ErrorCode::corruption,
                  [&decode = decode, bytes] { return decode(*bytes); });
}

ComponentSet ComponentRegistry::unknown_of(const ComponentSet& set) const {
  ComponentSet unknown = set;
  for (const auto& [type, registered] : types_) unknown.erase(ids_.find(registered.name)->second);
  return unknown;
}

std::string_view ComponentRegistry::name_of(ComponentId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view() : found->second;
}

std::optional<ComponentId> ComponentRegistry::id_of(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

Status ComponentRegistry::adopt_table(const Bytes& table) {
  VARVE_ASSIGN(Names names, decode_table(table));
  Ids ids;
  for (const auto& [id, name] : names) ids.emplace(name, id);
  // Who can keep an id keeps it; only then the others choose, so that they take none away.
  std::vector<std::string> homeless;
  for (const auto& [id, name] : names_) {
    if (ids.contains(name)) continue;
    if (names.emplace(id, name).second) {
      ids.emplace(name, id);
    } else {
      homeless.push_back(name);
    }
  }
  for (const std::string& name : homeless) {
    const ComponentId id = free_id(names);
    names.emplace(id, name);
    ids.emplace(name, id);
  }
  names_ = std::move(names);
  ids_ = std::move(ids);
  return {};
}

Bytes ComponentRegistry::table() const {
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

}  // namespace varve
