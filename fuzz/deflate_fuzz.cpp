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

// Whether `in` is one stream from end to end.
bool check_wrapping(CompressionId id, ByteView in) {
  Buffer out;
  const auto consumed = inflate_prefix_into(id, in, kLimit, out);
  VARVE_INVARIANT(out.capacity() <= kLimit);
  VARVE_INVARIANT(!consumed || (*consumed <= in.size() && out.size() <= kLimit));
  const auto whole = compression(id).decompress(in, kLimit);
  VARVE_INVARIANT(whole.ok() == (consumed && *consumed == in.size()));
  VARVE_INVARIANT(!whole || equal(*whole, out.view()));
  return whole.ok();
}

}  // namespace

// The first byte chooses the wrapping to compress with, the second the level; the
// rest is input.
bool check_input(ByteView in) {
  if (in.size() < 2) return false;
  const CompressionId id = kWrappings[std::to_integer<unsigned>(in[0]) % 3];
  constexpr int kLevelCount = kDeflateLevels.max - kDeflateLevels.min + 1;
  const int level = kDeflateLevels.min + std::to_integer<int>(in[1]) % kLevelCount;
  in = in.subspan(2);
  bool is_accepted = false;
  for (const CompressionId any : kWrappings) is_accepted |= check_wrapping(any, in);
  const auto codec = make_compression(id, level);
  ByteWriter small;
  VARVE_INVARIANT(codec && (*codec)->compress(in, small));
  const auto back = compression(id).decompress(small.view(), in.size());
  VARVE_INVARIANT(back && equal(*back, in));
  return is_accepted;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const std::string& text : {std::string(), std::string(5000, 'a'),
                                  std::string("stone stone dirt stone dirt dirt air air stone")}) {
    for (const CompressionId id : kWrappings) {
      ByteWriter small;
      small.u8(static_cast<std::uint8_t>(out.size()));
      small.u8(static_cast<std::uint8_t>(out.size() * 5));
      VARVE_INVARIANT(compression(id).compress(as_byte_view(text), small));
      out.emplace_back(as_text(small.view()));
    }
  }
  return out;
}

}  // namespace varve::fuzz
