// Invariants checked: no input reads out of bounds or overflows the stack; a value
// that was parsed, written pretty or compact, parses as an equal value; and a refusal
// names a line and a column.
#include "codec/ron.h"

#include "fuzz_target.h"

namespace varve::fuzz {

void check_input(ByteView in) {
  const auto value = ron::parse(as_text(in), std::size_t{1} << 26);
  if (!value) {
    VARVE_INVARIANT(value.error().code() == ErrorCode::corruption);
    VARVE_INVARIANT(value.error().message().starts_with("ron: line "));
    return;
  }
  for (const auto& text : {ron::write_pretty(*value), ron::write_compact(*value)}) {
    VARVE_INVARIANT(text);
    const auto again = ron::parse(*text, std::size_t{1} << 26);
    VARVE_INVARIANT(again && *again == *value);
  }
}

std::vector<std::string> seeds() {
  return {
      "SceneData(\n    version: 1,\n    entities: [\n        EntityData(\n"
      "            name: Some(\"Parent\"),\n            data: Ron(\"(x: 0, y: 100, z: 0)\"),\n"
      "        ),\n    ],\n)",
      "(seed: 0xff_u, time: -1.5e-3, b: 0b1010, o: 0o17, inf: inf, nan: NaN, big: "
      "18446744073709551615)",
      "/* a /* b */ c */ {\"k\": [true, false, None, ()], 'c': r#\"raw \"# // end\n}",
      R"(("\u{1F30D}\x41\n\r\t\0\\\"\'", '\'', -9223372036854775808, .5, 1., +2, r#raw.name))",
  };
}

}  // namespace varve::fuzz
