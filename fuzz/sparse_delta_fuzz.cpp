// Invariants checked: no delta reads or writes out of bounds or makes more than the
// limit; what it leaves alone is the base, cut or continued with zeros, and the rest
// its changed bytes; and a delta between any two buffers, applied, gives the target.
#include "codec/sparse_delta.h"

#include "base/byte_reader.h"
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

// What a valid delta makes of `base`, one byte after the other as the format is told.
std::string applied_slowly(std::string base, ByteView delta) {
  ByteReader r(delta);
  base.resize(r.varint());
  const std::size_t cell_size = r.varint();
  std::vector<std::size_t> gaps(r.varint());
  std::vector<std::size_t> lengths(gaps.size());
  for (std::size_t& gap : gaps) gap = r.varint();
  for (std::size_t& length : lengths) length = r.varint();
  std::size_t at = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    at += gaps[i] * cell_size;
    for (const std::size_t end = at + lengths[i] * cell_size; at < end; ++at) {
      if (at < base.size()) base[at] = static_cast<char>(r.u8());
    }
  }
  VARVE_INVARIANT(r.finish("delta"));
  return base;
}

}  // namespace

bool check_input(ByteView in) {
  const std::string base = "the quick brown fox jumps over the lazy dog";
  Buffer out;
  const bool is_accepted = apply_sparse_delta_into(as_byte_view(base), in, kLimit, out).ok();
  if (is_accepted) {
    VARVE_INVARIANT(out.size() <= kLimit);
    VARVE_INVARIANT(as_text(out.view()) == applied_slowly(base, in));
    check_round_trip(as_byte_view(base), out.view(), 1 + in.size() % 9);
  }
  VARVE_INVARIANT(out.capacity() <= kLimit);

  const std::size_t half = in.size() / 2;
  check_round_trip(in.first(half), in.subspan(half), 1 + in.size() % 9);
  return is_accepted;
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
