// Invariants checked: no input reads or writes out of bounds or makes more than the
// limit; what decodes has the size its header claims; and any input, compressed at
// any level, comes back.
#include "codec/lz4.h"

#include "base/endian.h"
#include "fuzz_target.h"

namespace varve::fuzz {

constexpr std::size_t kLimit = 1 << 18;

bool check_input(ByteView in) {
  const Compression& codec = compression(CompressionId::lz4);
  Buffer out;
  const bool is_accepted = codec.decompress_into(in, kLimit, out).ok();
  VARVE_INVARIANT(!is_accepted || out.size() == load_le<std::uint32_t>(in.data()));
  VARVE_INVARIANT(out.capacity() <= kLimit);

  const int level = kLz4Levels.min + static_cast<int>(in.size()) % kLz4Levels.max;
  const auto other_level = make_compression(CompressionId::lz4, level);
  ByteWriter small;
  VARVE_INVARIANT(other_level && (*other_level)->compress(in, small));
  VARVE_INVARIANT(codec.decompress_into(small.view(), in.size(), out));
  VARVE_INVARIANT(equal(out.view(), in));
  return is_accepted;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const std::string& text : {std::string(), std::string("abc"), std::string(5000, 'a'),
                                  std::string("stone stone dirt stone dirt dirt air air stone")}) {
    ByteWriter small;
    VARVE_INVARIANT(compression(CompressionId::lz4).compress(as_byte_view(text), small));
    out.emplace_back(as_text(small.view()));
  }
  return out;
}

}  // namespace varve::fuzz
