// Structures read from RON. What does not fit is corruption, and the message leads to it:
// "scene: field entities: item 3: field stable_id: expected ...".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "codec/ron.h"
#include "varve/result.h"

namespace varve::nebula {

// One value. It may take 128 times the memory of its text, which is more than any text
// needs: a list of numbers of one digit takes a hundred times as much.
Result<ron::Value> parse_ron(std::string_view text);

// The value as a struct. RON lets a writer leave the name out.
Result<const ron::Record*> struct_of(const ron::Value& value, std::string_view name);
// The same for a struct that has these fields and no other: one that is not known here
// could not be written back.
Result<const ron::Record*> closed_struct_of(const ron::Value& value, std::string_view name,
                                            std::initializer_list<std::string_view> fields);

Result<std::uint64_t> u64_of(const ron::Value& value, std::uint64_t max = ~std::uint64_t{0});
Result<std::int64_t> i64_of(const ron::Value& value, std::int64_t min, std::int64_t max);
Result<double> number_of(const ron::Value& value);
Result<std::string> text_of(const ron::Value& value);
Result<const ron::List*> list_of(const ron::Value& value);

// What `read` makes of a field, which must be there.
template <class Read>
std::invoke_result_t<Read, const ron::Value&> field_of(const ron::Record& record,
                                                       std::string_view name, const Read& read) {
  for (const ron::Field& field : record.fields) {
    if (field.name != name) continue;
    auto result = read(field.value);
    if (!result) return result.error().with_context("field " + field.name);
    return result;
  }
  return corruption("field " + std::string(name) + " is missing");
}

// What `read` makes of the items of a list.
template <class Read, class T = typename std::invoke_result_t<Read, const ron::Value&>::value_type>
Result<std::vector<T>> items_of(const ron::Value& value, const Read& read) {
  const auto list = list_of(value);
  if (!list) return list.error();
  std::vector<T> out;
  out.reserve((*list)->items.size());
  for (const ron::Value& item : (*list)->items) {
    auto result = read(item);
    if (!result) return result.error().with_context("item " + std::to_string(out.size()));
    out.push_back(*std::move(result));
  }
  return out;
}

}  // namespace varve::nebula
