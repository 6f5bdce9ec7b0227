#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "varve/components.h"

namespace varve {
namespace {

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
  VARVE_ASSIGN(const ComponentId id, names_.add(name));
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
  set.put(*names_.id_of(name), std::move(bytes));
  return {};
}

Result<std::any> ComponentRegistry::get_value(const ComponentSet& set, std::type_index type) const {
  const auto found = types_.find(type);
  if (found == types_.end()) return not_registered(type);
  const auto& [name, encode, decode] = found->second;
  const Bytes* bytes = set.find(*names_.id_of(name));
  if (bytes == nullptr) return std::any();
  return call_for(name, ErrorCode::corruption,
                  [&decode = decode, bytes] { return decode(*bytes); });
}

ComponentSet ComponentRegistry::unknown_of(const ComponentSet& set) const {
  ComponentSet unknown = set;
  for (const auto& [type, registered] : types_) unknown.erase(*names_.id_of(registered.name));
  return unknown;
}

Status ComponentRegistry::adopt_table(const Bytes& table) {
  VARVE_ASSIGN(ComponentNames names, ComponentNames::decode(table));
  // Who can keep an id keeps it; only then the others choose, so that they take none away.
  std::vector<std::string> homeless;
  for (const auto& [id, name] : names_) {
    if (names.id_of(name)) continue;
    if (!names.add_as(id, name)) homeless.push_back(name);
  }
  for (const std::string& name : homeless) VARVE_TRY(names.add(name));
  names_ = std::move(names);
  return {};
}

}  // namespace varve
