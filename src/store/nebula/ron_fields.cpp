#include "store/nebula/ron_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve::nebula {

Result<ron::Value> parse_ron(std::string_view text) {
  constexpr std::size_t kPerCharacter = 128;
  constexpr std::size_t kAtLeast = 4096;
  return ron::parse(text, text.size() * kPerCharacter + kAtLeast);
}

Result<const ron::Record*> struct_of(const ron::Value& value, std::string_view name) {
  const auto* record = value.as<ron::Record>();
  if (record != nullptr && (record->name.empty() || record->name == name)) return record;
  const std::string expected =
      name.empty() ? "a struct without a name" : fmt::format("a struct {}", name);
  if (record == nullptr) return corruption(fmt::format("expected {} with fields", expected));
  return corruption(fmt::format("expected {}, found {}", expected, record->name));
}

Result<const ron::Record*> closed_struct_of(const ron::Value& value, std::string_view name,
                                            std::initializer_list<std::string_view> fields) {
  VARVE_ASSIGN(const ron::Record* record, struct_of(value, name));
  for (const ron::Field& field : record->fields) {
    if (std::find(fields.begin(), fields.end(), field.name) == fields.end())
      return corruption(fmt::format("unknown field {}", field.name));
  }
  return record;
}

Result<std::uint64_t> u64_of(const ron::Value& value, std::uint64_t max) {
  if (const auto* integer = value.as<ron::Integer>()) {
    if (const auto number = integer->as_u64(); number && *number <= max) return *number;
  }
  return corruption(fmt::format("expected an integer from 0 to {}", max));
}

Result<std::int64_t> i64_of(const ron::Value& value, std::int64_t min, std::int64_t max) {
  if (const auto* integer = value.as<ron::Integer>()) {
    const auto number = integer->as_i64();
    if (number && *number >= min && *number <= max) return *number;
  }
  return corruption(fmt::format("expected an integer from {} to {}", min, max));
}

Result<double> number_of(const ron::Value& value) {
  if (const auto number = value.as_number()) return *number;
  return corruption("expected a number");
}

Result<std::string> text_of(const ron::Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  return corruption("expected a text");
}

Result<const ron::List*> list_of(const ron::Value& value) {
  if (const auto* list = value.as<ron::List>()) return list;
  return corruption("expected a list");
}

}  // namespace varve::nebula
