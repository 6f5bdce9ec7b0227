// Invariants checked, for zlib, gzip and raw deflate: no input reads or writes out of
// bounds or makes more than the limit; the whole-input decoder accepts exactly what
// the prefix decoder consumes to the end, with the same bytes; and any input,
// compressed at any level, comes back.
#include "codec/deflate.h"

#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

constexpr std::size_t kLimit = 1 << 18;
constexpr CompressionId kWrappings[] = {CompressionId::zlib, CompressionId::gzip,
                                        CompressionId::deflate};

void check_wrapping(CompressionId id, ByteView in) {
  Buffer out;
  const auto consumed = inflate_prefix_into(id, in, kLimit, out);
  VARVE_INVARIANT(out.capacity() <= kLimit);
  VARVE_INVARIANT(!consumed || (*consumed <= in.size() && out.size() <= kLimit));
  const auto whole = compression(id).decompress(in, kLimit);
  VARVE_INVARIANT(whole.ok() == (consumed && *consumed == in.size()));
  VARVE_INVARIANT(!whole || equal(*whole, out.view()));
}

}  // namespace

void check_input(ByteView in) {
  for (const CompressionId id : kWrappings) check_wrapping(id, in);
  const int level = kDeflateLevels.min + static_cast<int>(in.size()) % 9;
  const CompressionId id = kWrappings[in.size() % 3];
  const auto codec = make_compression(id, level);
  ByteWriter small;
  VARVE_INVARIANT(codec && (*codec)->compress(in, small));
  const auto back = compression(id).decompress(small.view(), in.size());
  VARVE_INVARIANT(back && equal(*back, in));
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const std::string& text : {std::string(), std::string(5000, 'a'),
                                  std::string("stone stone dirt stone dirt dirt air air stone")}) {
    for (const CompressionId id : kWrappings) {
      ByteWriter small;
      VARVE_INVARIANT(compression(id).compress(as_byte_view(text), small));
      out.emplace_back(as_text(small.view()));
    }
  }
  return out;
}

}  // namespace varve::fuzz
