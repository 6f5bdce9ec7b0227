// Invariants checked: no input reads out of bounds; cells that were decoded, encoded again,
// decode to the same; and encoding them a second time gives the same bytes.
//
// Packed cells take up to 64 KiB, more than a fuzzer tries. So each input is also checked
// with what follows its header repeated up to the size the header asks for.
#include "store/nebula/nvck.h"

#include <algorithm>
#include <vector>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

using nebula::kCellCount;

bool check_chunk(ByteView in) {
  std::vector<nebula::VoxelType> cells(kCellCount);
  const auto flat = nebula::Cells(cells.data(), kCellCount);
  if (const auto read = nebula::decode_nvck(in, flat); !read) {
    const ErrorCode code = read.error().code();
    VARVE_INVARIANT(code == ErrorCode::corruption || code == ErrorCode::unsupported);
    return false;
  }
  const Bytes ours = nebula::encode_nvck(flat);
  std::vector<nebula::VoxelType> again(kCellCount);
  const auto flat_again = nebula::Cells(again.data(), kCellCount);
  VARVE_INVARIANT(nebula::decode_nvck(ours, flat_again));
  VARVE_INVARIANT(again == cells);
  VARVE_INVARIANT(nebula::encode_nvck(flat_again) == ours);
  return true;
}

// The input with a body of the right size; empty if its header is cut.
Bytes stretched(ByteView in) {
  ByteReader r(in);
  r.skip(4);
  if (r.u8() != 1) r.skip(1);
  r.skip(std::uint64_t{r.u16_le()} * 2);
  const std::size_t body_size = kCellCount / 8 * (r.u8() % 17);
  if (!r.ok()) return {};
  ByteWriter out;
  out.bytes(in.first(r.offset()));
  const std::size_t size = r.offset() + body_size;
  const ByteView body = r.rest();
  while (out.size() < size) {
    const std::size_t left = size - out.size();
    if (body.empty()) out.zeros(left);
    out.bytes(body.first(std::min(body.size(), left)));
  }
  return out.take();
}

}  // namespace

bool check_input(ByteView in) {
  const bool is_accepted = check_chunk(in);
  return check_chunk(stretched(in)) || is_accepted;
}

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  return {
      "NVCK\2\0\1\0\0\0\0"s,
      "NVCK\1\1\0\5\0\0"s,
      "NVCK\2\1\2\0\0\0\7\0\2\2\0\0\0\0\x40\1\0\0\x40\0\0"s,
      "NVCK\2\0\3\0\0\0\7\0\x9\0\2\x24\x12\x48"s,
      "NVCK\1\5\0\1\0\2\0\3\0\4\0\5\0\4\x43\x21"s,
      "NVCK\2\0\2\0\1\0\2\0\x8\1\0\1"s,
      "NVCK\2\0\3\0\1\0\2\0\3\0\x10\0\0\1\0\2\0"s,
  };
}

}  // namespace varve::fuzz
