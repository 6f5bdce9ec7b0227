// RON, the text form of scenes and world metadata: the part of it that structures
// written by serde use.
//
//   SceneData(
//       version: 1,
//       entities: [
//           EntityData(name: Some("Parent"), kind: Ron("(x: 0)")),
//       ],
//   )
//
// Left out, and refused with a message: `#![enable(...)]` extensions, byte strings,
// type suffixes on numbers, and integers of more than 64 bits. A float beyond the
// range of a double is read as Rust reads it: `1e-400` is 0.0, `1e400` is inf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "varve/result.h"

namespace varve::ron {

struct Value;
struct Field;
struct MapEntry;

// Names of structs and variants look alike in RON, so that both are `name` here,
// empty where there is none. Order is kept everywhere.

// `()`, or `Name` alone.
struct Unit {
  std::string name;
  bool operator==(const Unit& other) const = default;
};

// The whole range of i64 and u64.
struct Integer {
  std::uint64_t magnitude = 0;
  bool negative = false;

  // Not so for less than i64 holds, nor for a negative zero. The parser makes none
  // such and the writer refuses them.
  bool is_valid() const noexcept;
  static Integer of(std::uint64_t value) noexcept { return {value, false}; }
  static Integer of_signed(std::int64_t value) noexcept;
  // nullopt if it does not fit.
  std::optional<std::uint64_t> as_u64() const noexcept;
  std::optional<std::int64_t> as_i64() const noexcept;
  bool operator==(const Integer& other) const = default;
};

// Compared as written: NaN equals NaN, and -0.0 differs from 0.0.
struct Float {
  double value = 0;
  bool operator==(const Float& other) const noexcept;
};

// `None`, or `Some(value)`: no item, or one.
struct Option {
  std::vector<Value> value;
  bool operator==(const Option& other) const;
};

// `[a, b]`
struct List {
  std::vector<Value> items;
  bool operator==(const List& other) const;
};

// `{key: value}`
struct Map {
  std::vector<MapEntry> entries;
  bool operator==(const Map& other) const;
};

// `(a, b)` or `Name(a, b)`. Without name and items it is a Unit instead.
struct Tuple {
  std::string name;
  std::vector<Value> items;
  bool operator==(const Tuple& other) const;
};

// `(x: a, y: b)` or `Name(x: a, y: b)`. Without fields it is a Unit or Tuple instead.
struct Record {
  std::string name;
  std::vector<Field> fields;
  bool operator==(const Record& other) const;
};

struct Value {
  std::variant<Unit, bool, Integer, Float, char32_t, std::string, Option, List, Map, Tuple, Record>
      data;

  // The value as a T, or nullptr if it is something else.
  template <class T>
  const T* as() const noexcept {
    return std::get_if<T>(&data);
  }
  // A Float, or an Integer where a float was meant: serde takes `3600` for 3600.0.
  std::optional<double> as_number() const noexcept;
  // The field of a Record; nullptr if it has none such or is no Record.
  const Value* field(std::string_view name) const noexcept;

  bool operator==(const Value& other) const { return data == other.data; }
};

struct Field {
  std::string name;
  Value value;
  bool operator==(const Field& other) const = default;
};

struct MapEntry {
  Value key;
  Value value;
  bool operator==(const MapEntry& other) const = default;
};

// Deeper nesting is refused, both ways: it would be a stack overflow, not data.
inline constexpr int kDepthMax = 128;

// Exactly one value, with blanks and comments around it. Anything else is
// corruption; the message names line and column. A struct that names a field twice
// is refused.
//
// So is a value that takes more than `output_size_limit` bytes of memory, which can
// be a hundred times the text. At no time is more than that allocated (the
// allocator's rounding and the message of a failure aside). Counted are every Value
// with what it owns, a string as it is spelled, a list's room for more items, and,
// while a list moves to a larger block, both blocks. So leave the limit some room: a
// value may need four times what its items take.
Result<Value> parse(std::string_view text, std::size_t output_size_limit);

// One field or item a line, four blanks an indent, a comma after each; tuples stay
// on their line. No line end after the last. This is what the original program
// writes. What is written parses as an equal value, but for the Tuples and Records
// said above to be a Unit or Tuple instead. Invalid_argument for what could not: a
// name or text that RON cannot spell, an Integer that is not valid, an Option of
// several items, a Record that names a field twice, or nesting too deep.
Result<std::string> write_pretty(const Value& value);

// All on one line: `(x: 0, y: 100, z: 0)`.
Result<std::string> write_compact(const Value& value);

}  // namespace varve::ron
