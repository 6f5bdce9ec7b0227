// Invariants checked: no delta reads or writes out of bounds or makes more than the
// limit; what it leaves alone is the base, cut or continued with zeros; and a delta
// between any two buffers, applied, gives the target.
#include "codec/sparse_delta.h"

#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

constexpr std::size_t kLimit = 1 << 16;

void check_round_trip(ByteView base, ByteView target, std::size_t cell_size) {
  ByteWriter delta;
  VARVE_INVARIANT(encode_sparse_delta(base, target, cell_size, delta));
  const auto back = apply_sparse_delta(base, delta.view(), target.size());
  VARVE_INVARIANT(back && equal(*back, target));
}

}  // namespace

void check_input(ByteView in) {
  const std::string base = "the quick brown fox jumps over the lazy dog";
  Buffer out;
  if (apply_sparse_delta_into(as_byte_view(base), in, kLimit, out)) {
    VARVE_INVARIANT(out.size() <= kLimit);
    check_round_trip(as_byte_view(base), out.view(), 1 + in.size() % 9);
  }
  VARVE_INVARIANT(out.capacity() <= kLimit);

  const std::size_t half = in.size() / 2;
  check_round_trip(in.first(half), in.subspan(half), 1 + in.size() % 9);
}

std::vector<std::string> seeds() {
  const std::string base = "the quick brown fox jumps over the lazy dog";
  std::vector<std::string> out;
  for (const std::string& target :
       {base, std::string("the quick green fox jumps over the crazy dogs"), std::string("the"),
        std::string(300, 'x')}) {
    for (const std::size_t cell_size : {1, 4, 7}) {
      ByteWriter delta;
      VARVE_INVARIANT(
          encode_sparse_delta(as_byte_view(base), as_byte_view(target), cell_size, delta));
      out.emplace_back(as_text(delta.view()));
    }
  }
  return out;
}

}  // namespace varve::fuzz
