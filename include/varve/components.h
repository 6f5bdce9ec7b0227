// Entities made of components, for any ECS.
//
// A registry gives each component type a name, an id that stays the same in every run,
// and the functions that make bytes of it and back. An entity is then a ComponentSet: values by
// id, in encoded form. Components nobody registered (of a mod that is not loaded, of a
// newer version of the game) stay in the set and are written back as they came.
//
//   ComponentRegistry registry;
//   auto id = registry.add<Position>("position", encode_position, decode_position);
//   if (auto table = world.load_global(kComponentTable); table && *table)
//     Status adopted = registry.adopt_table(**table);  // the ids this save uses
//
//   ComponentSet set;
//   Status put = registry.put(set, Position{3, 4});
//   put = world.put_entity({.id = entity, .owner = chunk, .data = *set.encode()});
//   put = world.put_global(kComponentTable, registry.table());
//
// (What can fail is [[nodiscard]]; examples/own_ecs.cpp looks at every Status.)
//
// Thread safety: a registry may be read from several threads once nothing is added.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

using ComponentId = std::uint32_t;

// The global that says which name has which id.
inline constexpr std::string_view kComponentTable = "varve:components";

// The components of one entity, encoded.
//
// As bytes: u8 version (1), varint count, then for each component, by rising id: varint
// id, varint size, that many bytes. Unknown versions are refused.
class ComponentSet {
 public:
  // corruption if `data` is not what encode() makes.
  static Result<ComponentSet> decode(const Bytes& data);
  // invalid_argument if it is larger than a record may be.
  Result<Bytes> encode() const;

  void put(ComponentId id, Bytes value) { values_.insert_or_assign(id, std::move(value)); }
  bool erase(ComponentId id) { return values_.erase(id) != 0; }
  // The encoded value, or nullptr.
  const Bytes* find(ComponentId id) const;
  // Puts every component of `other` that is not here yet.
  void merge(const ComponentSet& other) {
    values_.insert(other.values_.begin(), other.values_.end());
  }

  std::size_t count() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  auto begin() const noexcept { return values_.begin(); }
  auto end() const noexcept { return values_.end(); }

  friend bool operator==(const ComponentSet&, const ComponentSet&) = default;

 private:
  std::map<ComponentId, Bytes> values_;
};

// Which component has which id, for the life of a save. Ids count from 1.
//
// As bytes: u8 version (1), varint count, then for each name, by rising id: varint id, varint size
// of the name, the name.
class ComponentNames {
 public:
  // corruption if `table` is not what encode() makes.
  static Result<ComponentNames> decode(ByteView table);
  Bytes encode() const;

  std::size_t count() const noexcept { return names_.size(); }
  // Empty if nobody has it.
  std::string_view name_of(ComponentId id) const;
  std::optional<ComponentId> id_of(std::string_view name) const;
  bool contains(ComponentId id) const { return names_.contains(id); }

  // The id of a name, which is a free one if it has none yet. Refuses what check_name() does.
  Result<ComponentId> add(std::string_view name);
  // False, and nothing changed, if either is taken.
  bool add_as(ComponentId id, std::string_view name);

  auto begin() const noexcept { return names_.begin(); }
  auto end() const noexcept { return names_.end(); }

 private:
  std::map<ComponentId, std::string> names_;
  std::map<std::string, ComponentId, std::less<>> ids_;
};

class ComponentRegistry {
 public:
  // Registers T under `name`. Refused if the name or the type is there already.
  template <class T>
  Result<ComponentId> add(std::string_view name, std::function<Result<Bytes>(const T&)> encode,
                          std::function<Result<T>(const Bytes&)> decode) {
    return add_type(
        name, typeid(T),
        [encode = std::move(encode)](const void* value) {
          return encode(*static_cast<const T*>(value));
        },
        [decode = std::move(decode)](const Bytes& bytes) -> Result<std::any> {
          Result<T> value = decode(bytes);
          if (!value) return value.error();
          return std::any(*std::move(value));
        });
  }

  template <class T>
  bool has() const {
    return types_.contains(typeid(T));
  }

  // Encodes a component into a set. On an error (that of its encode function, or
  // invalid_argument if that throws) the set stays as it was.
  template <class T>
  Status put(ComponentSet& set, const T& value) const {
    return put_value(set, typeid(T), &value);
  }
  // The component of a set; nullopt if it has none. If it cannot be decoded, the error of
  // its decode function, or corruption if that throws.
  template <class T>
  Result<std::optional<T>> get(const ComponentSet& set) const {
    Result<std::any> value = get_value(set, typeid(T));
    if (!value) return value.error();
    if (!value->has_value()) return std::optional<T>();
    return std::optional<T>(std::any_cast<T>(*std::move(value)));
  }
  // The components of a set that nobody registered. An ECS keeps them with the
  // entity and merges them in when it saves it.
  ComponentSet unknown_of(const ComponentSet& set) const;

  // The name of an id, registered or adopted; empty if it is neither.
  std::string_view name_of(ComponentId id) const { return names_.name_of(id); }
  std::optional<ComponentId> id_of(std::string_view name) const { return names_.id_of(name); }

  // Takes over the ids a save uses: names in the table get the id they have there, all
  // others keep theirs or, if it is taken, get one that is free. Call it before the first
  // put, since ids that add() returned may change; names of the table that nobody
  // registered are remembered. corruption, and no change, if `table` is not what table()
  // makes.
  Status adopt_table(const Bytes& table);
  // Which name has which id, to be saved as the global kComponentTable: ComponentNames as bytes.
  Bytes table() const { return names_.encode(); }

 private:
  using Encode = std::function<Result<Bytes>(const void*)>;
  using Decode = std::function<Result<std::any>(const Bytes&)>;
  struct Type {
    std::string name;
    Encode encode;
    Decode decode;
  };

  Result<ComponentId> add_type(std::string_view name, std::type_index type, Encode encode,
                               Decode decode);
  Status put_value(ComponentSet& set, std::type_index type, const void* value) const;
  Result<std::any> get_value(const ComponentSet& set, std::type_index type) const;

  std::map<std::type_index, Type> types_;
  ComponentNames names_;  // registered and adopted
};

}  // namespace varve
