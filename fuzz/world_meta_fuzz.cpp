// Invariants checked: no input reads out of bounds or overflows the stack; a refusal names
// the file; and what was read can be written, reads as equal and is then written the same.
#include "fuzz_target.h"
#include "varve/nebula.h"

namespace varve::fuzz {

bool check_input(ByteView in) {
  const auto meta = nebula::decode_meta(as_text(in));
  if (!meta) {
    const ErrorCode code = meta.error().code();
    VARVE_INVARIANT(code == ErrorCode::corruption || code == ErrorCode::unsupported);
    VARVE_INVARIANT(meta.error().message().starts_with("world.ron: "));
    return false;
  }
  const auto text = nebula::encode_meta(*meta);
  VARVE_INVARIANT(text);
  const auto again = nebula::decode_meta(*text);
  VARVE_INVARIANT(again && again->other_fields == meta->other_fields);
  // Not compared as a whole: NaN differs from itself.
  VARVE_INVARIANT(again->seed == meta->seed && again->display_name == meta->display_name);
  VARVE_INVARIANT(*nebula::encode_meta(*again) == *text);
  return true;
}

std::vector<std::string> seeds() {
  return {
      "(save_version: 1)",
      "WorldMeta(save_version: 1, seed: 0xff, world_time: -1.5e-3, display_name: r#\"a\"#,\n"
      "  created_at: \"\\u{e9}\", last_saved_at: \"\", play_time: NaN, // more\n"
      "  label: Some([(1, 'c'), {\"k\": inf}]), r#a.b: (x: 0, y: Air))",
  };
}

}  // namespace varve::fuzz
