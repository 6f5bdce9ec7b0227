#include "codec/lz4.h"

#include <fmt/format.h>
#include <lz4.h>
#include <lz4hc.h>

#include <limits>

#include "base/byte_reader.h"
#include "base/try.h"
#include "codec/grow_output.h"

namespace varve {
namespace {

// A match costs at least a byte per 255 bytes it yields, a literal a byte per byte.
constexpr std::uint64_t kExpansionMax = 255;
constexpr std::size_t kInputSizeMax = LZ4_MAX_INPUT_SIZE;

const char* chars(ByteView bytes) { return reinterpret_cast<const char*>(bytes.data()); }

// 256 KiB, which a thread that never compresses thoroughly does not get.
std::byte* thread_state_of_thorough() {
  thread_local const auto state =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(LZ4_sizeofStateHC()));
  return state.get();
}

// Appends `head_size` bytes for the caller to fill, and the block. All memory is there
// before `out` changes.
Status append_block(ByteView in, int level, std::size_t head_size, ByteWriter& out) {
  if (in.size() > kInputSizeMax) {
    return invalid_argument(fmt::format("lz4: {} bytes are more than the {} a block can hold",
                                        in.size(), kInputSizeMax));
  }
  const auto in_size = static_cast<int>(in.size());
  std::byte* const state = level < 3 ? nullptr : thread_state_of_thorough();
  const std::size_t start = out.size();
  const auto room = out.extend(head_size + static_cast<std::size_t>(LZ4_compressBound(in_size)));
  VARVE_TRY(out.status("lz4"));
  const auto block = room.subspan(head_size);
  const auto block_size = static_cast<int>(block.size());
  char* const to = reinterpret_cast<char*>(block.data());
  const int size = state == nullptr ? LZ4_compress_default(chars(in), to, in_size, block_size)
                                    : LZ4_compress_HC_extStateHC(state, chars(in), to, in_size,
                                                                 block_size, level);
  // Does not happen with room for the worst case; nothing would be read as a block.
  if (size <= 0) {
    out.truncate(start);
    return invalid_argument(fmt::format("lz4: cannot compress {} bytes", in.size()));
  }
  out.truncate(start + head_size + static_cast<std::size_t>(size));
  return {};
}

class Lz4 final : public Compression {
 public:
  explicit Lz4(int level) : Compression(CompressionId::lz4, "lz4"), level_(level) {}

  Status compress(ByteView in, ByteWriter& out) const override {
    const std::size_t start = out.size();
    VARVE_TRY(append_block(in, level_, sizeof(std::uint32_t), out));
    out.patch_u32_le(start, static_cast<std::uint32_t>(in.size()));
    return {};
  }

  Status decompress_into(ByteView in, std::size_t output_size_limit, Buffer& out) const override {
    ByteReader r(in);
    const std::uint32_t raw_size = r.u32_le();
    const ByteView block = r.rest();
    VARVE_TRY(r.status("lz4"));
    // Both before allocating: a flipped bit in the size must not become a 4 GiB block.
    if (raw_size > output_size_limit) return over_limit("lz4", output_size_limit);
    if (raw_size > block.size() * kExpansionMax) {
      return corruption(fmt::format("lz4: {} bytes cannot decode to the {} the header claims",
                                    block.size(), raw_size));
    }
    replace_size(out, raw_size);
    return lz4_decompress_block(block, out.span());
  }

 private:
  int level_;
};

}  // namespace

std::uint32_t lz4_library_version() noexcept {
  return static_cast<std::uint32_t>(LZ4_versionNumber());
}

std::unique_ptr<const Compression> make_lz4(int level) { return std::make_unique<Lz4>(level); }

Status lz4_compress_block(ByteView in, int level, ByteWriter& out) {
  return append_block(in, level, 0, out);
}

Status lz4_decompress_block(ByteView in, std::span<std::byte> out) {
  constexpr std::size_t kIntMax = std::numeric_limits<int>::max();
  if (in.size() > kIntMax || out.size() > kIntMax) {
    return corruption(fmt::format("lz4: a block of {} bytes for {} bytes is larger than LZ4 allows",
                                  in.size(), out.size()));
  }
  // LZ4 refuses a null pointer even where it has nothing to write.
  char nothing = 0;
  char* to = out.empty() ? &nothing : reinterpret_cast<char*>(out.data());
  const int size =
      LZ4_decompress_safe(chars(in), to, static_cast<int>(in.size()), static_cast<int>(out.size()));
  if (size < 0) {
    return corruption(fmt::format("lz4: a block of {} bytes is damaged or does not decode to {}",
                                  in.size(), out.size()));
  }
  if (static_cast<std::size_t>(size) != out.size()) {
    return corruption(fmt::format("lz4: expected {} bytes, decoded {}", out.size(), size));
  }
  return {};
}

}  // namespace varve
