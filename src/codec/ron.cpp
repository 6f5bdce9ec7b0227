#include "codec/ron.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/ron_scanner.h"

namespace varve::ron {
namespace {

constexpr std::uint64_t kI64MinMagnitude = std::uint64_t{1} << 63;

}  // namespace

Integer Integer::of_signed(std::int64_t value) noexcept {
  // Negated as unsigned: -INT64_MIN does not fit an i64.
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? Integer{~bits + 1, true} : Integer{bits, false};
}

bool Integer::is_valid() const noexcept {
  return !negative || (magnitude != 0 && magnitude <= kI64MinMagnitude);
}

std::optional<std::uint64_t> Integer::as_u64() const noexcept {
  if (negative) return std::nullopt;
  return magnitude;
}

std::optional<std::int64_t> Integer::as_i64() const noexcept {
  if (magnitude > kI64MinMagnitude - (negative ? 0 : 1)) return std::nullopt;
  return static_cast<std::int64_t>(negative ? ~magnitude + 1 : magnitude);
}

bool Float::operator==(const Float& other) const noexcept {
  if (std::isnan(value)) return std::isnan(other.value);
  return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other.value);
}

bool Option::operator==(const Option& other) const { return value == other.value; }
bool List::operator==(const List& other) const { return items == other.items; }
bool Map::operator==(const Map& other) const { return entries == other.entries; }
bool Tuple::operator==(const Tuple& other) const {
  return name == other.name && items == other.items;
}
bool Record::operator==(const Record& other) const {
  return name == other.name && fields == other.fields;
}

std::optional<double> Value::as_number() const noexcept {
  if (const auto* number = as<Float>()) return number->value;
  if (const auto* number = as<Integer>()) {
    const auto magnitude = static_cast<double>(number->magnitude);
    return number->negative ? -magnitude : magnitude;
  }
  return std::nullopt;
}

bool names_a_field_twice(const Record& record) {
  std::vector<std::string_view> names;
  names.reserve(record.fields.size());
  for (const Field& field : record.fields) names.push_back(field.name);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

const Value* Value::field(std::string_view name) const noexcept {
  const auto* record = as<Record>();
  if (record == nullptr) return nullptr;
  for (const Field& field : record->fields) {
    if (field.name == name) return &field.value;
  }
  return nullptr;
}

}  // namespace varve::ron
