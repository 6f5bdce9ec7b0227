// Invariants checked: no input reads out of bounds or overflows the stack; a value
// that was parsed, written pretty or compact, parses as an equal value, and under a
// limit that is too small it is refused; and a refusal names a line and a column.
#include "codec/ron.h"

#include "fuzz_target.h"

namespace varve::fuzz {

namespace {

// More than the longest input can take.
constexpr std::size_t kLimit = std::size_t{1} << 26;

// The memory a value takes, at the least.
std::size_t size_of(const ron::Value& value) {
  std::size_t size = sizeof(ron::Value);
  if (const auto* text = value.as<std::string>()) size += text->size();
  if (const auto* list = value.as<ron::List>()) {
    for (const ron::Value& item : list->items) size += size_of(item);
  }
  if (const auto* map = value.as<ron::Map>()) {
    for (const ron::MapEntry& entry : map->entries)
      size += size_of(entry.key) + size_of(entry.value);
  }
  if (const auto* tuple = value.as<ron::Tuple>()) {
    for (const ron::Value& item : tuple->items) size += size_of(item);
  }
  if (const auto* record = value.as<ron::Record>()) {
    for (const ron::Field& field : record->fields) size += field.name.size() + size_of(field.value);
  }
  return size;
}

}  // namespace

bool check_input(ByteView in) {
  const auto value = ron::parse(as_text(in), kLimit);
  if (!value) {
    VARVE_INVARIANT(value.error().code() == ErrorCode::corruption);
    VARVE_INVARIANT(value.error().message().starts_with("ron: line "));
    return false;
  }
  VARVE_INVARIANT(!ron::parse(as_text(in), size_of(*value) - 1));
  for (const auto& text : {ron::write_pretty(*value), ron::write_compact(*value)}) {
    VARVE_INVARIANT(text);
    const auto again = ron::parse(*text, kLimit);
    VARVE_INVARIANT(again && *again == *value);
  }
  return true;
}

std::vector<std::string> seeds() {
  return {
      "SceneData(\n    version: 1,\n    entities: [\n        EntityData(\n"
      "            name: Some(\"Parent\"),\n            data: Ron(\"(x: 0, y: 100, z: 0)\"),\n"
      "        ),\n    ],\n)",
      "(seed: 0xff_ff, time: -1.5e-3, b: 0b1010, o: 0o17, inf: inf, nan: NaN, big: "
      "18446744073709551615)",
      "/* a /* b */ c */ {\"k\": [true, false, None, ()], 'c': r#\"raw \"# // end\n}",
      R"(("\u{1F30D}\x41\n\r\t\0\\\"\'", '\'', -9223372036854775808, .5, 1., +2, r#raw.name))",
  };
}

}  // namespace varve::fuzz
