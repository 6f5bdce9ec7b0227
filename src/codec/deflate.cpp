#include "codec/deflate.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <array>
#include <cassert>
#include <new>

#include "base/endian.h"
#include "base/try.h"
#include "codec/grow_output.h"

namespace varve {
namespace {

struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

// A compressor takes hundreds of kilobytes and is bound to its level.
libdeflate_compressor* thread_compressor(int level) {
  thread_local std::array<std::unique_ptr<libdeflate_compressor, FreeCompressor>,
                          kDeflateLevels.max + 1>
      compressors;
  auto& mine = compressors[static_cast<std::size_t>(level)];
  if (!mine) mine.reset(libdeflate_alloc_compressor(level));
  if (!mine) throw std::bad_alloc();
  return mine.get();
}

libdeflate_decompressor* thread_decompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> mine(
      libdeflate_alloc_decompressor());
  if (!mine) throw std::bad_alloc();
  return mine.get();
}

struct Wrapping {
  CompressionId id;
  const char* name;
  decltype(&libdeflate_zlib_compress_bound) bound;
  decltype(&libdeflate_zlib_compress) compress;
  decltype(&libdeflate_zlib_decompress_ex) decompress;
};

constexpr Wrapping kZlib{CompressionId::zlib, "zlib", libdeflate_zlib_compress_bound,
                         libdeflate_zlib_compress, libdeflate_zlib_decompress_ex};
constexpr Wrapping kGzip{CompressionId::gzip, "gzip", libdeflate_gzip_compress_bound,
                         libdeflate_gzip_compress, libdeflate_gzip_decompress_ex};
constexpr Wrapping kDeflate{CompressionId::deflate, "deflate", libdeflate_deflate_compress_bound,
                            libdeflate_deflate_compress, libdeflate_deflate_decompress_ex};

std::size_t guess_output_size(const Wrapping& wrapping, ByteView in) {
  // Deflate yields at most 1032 bytes per byte; saved worlds about eight.
  const std::size_t size_max = in.size() * 1032;
  if (wrapping.id == CompressionId::gzip && in.size() >= 18) {
    // The last field of a gzip file is the raw size, but only a hint: it may be
    // damaged, modulo 2^32, or not the last field if bytes follow.
    const std::size_t claimed = load_le<std::uint32_t>(in.data() + in.size() - 4);
    if (claimed <= size_max) return claimed;
  }
  return in.size() * 8;
}

Result<std::size_t> inflate(const Wrapping& wrapping, ByteView in, std::size_t output_size_limit,
                            Buffer& out) {
  std::size_t consumed_size = 0;
  auto decode = [&](std::span<std::byte> room) -> Result<std::optional<std::size_t>> {
    std::size_t size = 0;
    switch (wrapping.decompress(thread_decompressor(), in.data(), in.size(), room.data(),
                                room.size(), &consumed_size, &size)) {
      case LIBDEFLATE_SUCCESS:
        return std::optional(size);
      case LIBDEFLATE_INSUFFICIENT_SPACE:
        return std::optional<std::size_t>();
      default:
        return corruption(fmt::format("{}: the stream of {} bytes is damaged or cut short",
                                      wrapping.name, in.size()));
    }
  };
  VARVE_TRY(decode_growing(out, guess_output_size(wrapping, in), output_size_limit, wrapping.name,
                           decode));
  return consumed_size;
}

class Deflate final : public Compression {
 public:
  Deflate(const Wrapping& wrapping, int level)
      : Compression(wrapping.id, wrapping.name), wrapping_(wrapping), level_(level) {}

  Status compress(ByteView in, ByteWriter& out) const override {
    libdeflate_compressor* const compressor = thread_compressor(level_);
    const std::size_t start = out.size();
    const auto room = out.extend(wrapping_.bound(compressor, in.size()));
    VARVE_TRY(out.status(wrapping_.name));
    const std::size_t size =
        wrapping_.compress(compressor, in.data(), in.size(), room.data(), room.size());
    out.truncate(start + size);
    // Does not happen with room for the worst case; nothing would be read as a stream.
    if (size == 0) {
      return invalid_argument(
          fmt::format("{}: cannot compress {} bytes", wrapping_.name, in.size()));
    }
    return {};
  }

  Status decompress_into(ByteView in, std::size_t output_size_limit, Buffer& out) const override {
    VARVE_ASSIGN(const std::size_t consumed, inflate(wrapping_, in, output_size_limit, out));
    if (consumed != in.size()) {
      return corruption(fmt::format("{}: {} unexpected bytes after the end at {}", wrapping_.name,
                                    in.size() - consumed, consumed));
    }
    return {};
  }

 private:
  const Wrapping& wrapping_;
  int level_;
};

const Wrapping& wrapping_of(CompressionId id) {
  assert(id == CompressionId::zlib || id == CompressionId::gzip || id == CompressionId::deflate);
  if (id == CompressionId::zlib) return kZlib;
  return id == CompressionId::gzip ? kGzip : kDeflate;
}

}  // namespace

std::unique_ptr<const Compression> make_zlib(int level) {
  return std::make_unique<Deflate>(kZlib, level);
}
std::unique_ptr<const Compression> make_gzip(int level) {
  return std::make_unique<Deflate>(kGzip, level);
}
std::unique_ptr<const Compression> make_deflate(int level) {
  return std::make_unique<Deflate>(kDeflate, level);
}

Result<Inflated> inflate_prefix(CompressionId id, ByteView in, std::size_t output_size_limit) {
  Buffer out;
  VARVE_ASSIGN(const std::size_t consumed, inflate_prefix_into(id, in, output_size_limit, out));
  return Inflated{.bytes = freeze_without_slack(std::move(out), output_size_limit),
                  .consumed_size = consumed};
}

Result<std::size_t> inflate_prefix_into(CompressionId id, ByteView in,
                                        std::size_t output_size_limit, Buffer& out) {
  return inflate(wrapping_of(id), in, output_size_limit, out);
}

}  // namespace varve
