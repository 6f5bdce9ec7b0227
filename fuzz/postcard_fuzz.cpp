// Invariants checked, with the scenes of a voxel game as the structure: no input
// reads out of bounds or makes more items than it has bytes; all text that comes out
// is UTF-8; and a scene that was read, written again, reads as the same bytes.
#include "codec/postcard.h"

#include "codec/utf8.h"
#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

// Reads a scene and writes it again field by field as it goes.
class SceneCopier {
 public:
  SceneCopier(ByteView in, ByteWriter& out) : size_(in.size()), in_(in), out_(out) {}

  bool copy() {
    in_.bytes_below().expect("NSCD");
    out_.u32(u32());
    for (std::size_t i = sequence(3); i > 0; --i) entity();
    for (std::size_t i = sequence(2); i > 0; --i) {
      out_.usize(in_.usize());
      out_.usize(in_.usize());
    }
    for (std::size_t i = sequence(2); i > 0; --i) {
      text();
      out_.usize(in_.usize());
    }
    // Not part of a scene, but every type the reader knows should be fuzzed.
    out_.boolean(in_.boolean());
    out_.i8(in_.i8());
    out_.u16(in_.u16());
    out_.i16(in_.i16());
    out_.i32(in_.i32());
    out_.i64(in_.i64());
    out_.f32(in_.f32());
    out_.f64(in_.f64());
    return in_.finish("scene").ok();
  }

 private:
  std::uint32_t u32() { return in_.u32(); }

  std::size_t sequence(std::size_t item_size_min) {
    const std::size_t count = in_.sequence(item_size_min);
    VARVE_INVARIANT(count * item_size_min <= size_);
    out_.sequence(count);
    return count;
  }

  void text() {
    const std::string_view text = in_.text();
    VARVE_INVARIANT(is_utf8(text) && text.size() <= size_);
    out_.text(text);
  }

  void entity() {
    const bool has_name = in_.option();
    out_.option(has_name);
    if (has_name) text();
    out_.u64(in_.u64());
    for (std::size_t i = sequence(3); i > 0; --i) {
      text();
      const std::uint32_t variant = in_.variant(2);
      VARVE_INVARIANT(variant < 2);
      out_.variant(variant);
      if (variant == 0) {
        text();
      } else {
        out_.bytes(in_.bytes());
      }
    }
  }

  std::size_t size_;
  PostcardReader in_;
  PostcardWriter out_;
};

}  // namespace

bool check_input(ByteView in) {
  ByteWriter first;
  first.text("NSCD");
  if (!SceneCopier(in, first).copy()) return false;
  // The input may spell a varint with more bytes than needed; the copy does not.
  VARVE_INVARIANT(first.size() <= in.size());
  ByteWriter second;
  second.text("NSCD");
  VARVE_INVARIANT(SceneCopier(first.view(), second).copy());
  VARVE_INVARIANT(equal(first.view(), second.view()));
  return true;
}

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  const std::string tail = "\x01\x80\xff\xff\x03\x05\x06\x07"s + std::string(12, '\x40');
  return {
      "NSCD\x01\x00\x00\x00"s + tail,
      "NSCD\x01\x02\x01\x06Parent\x01\x01\x08WorldPos\x00\x06(x: 0)\x00\xea\x07\x01\x06Health"s
      "\x01\x03Pd\xff\x01\x00\x01\x01\x03t\xc3\xa9\xac\x02"s +
          tail,
  };
}

}  // namespace varve::fuzz
