// Deflate in its three wrappings: zlib, gzip and none.
#pragma once

#include <cstddef>
#include <memory>

#include "codec/compression.h"

namespace varve {

// 6 is the level Minecraft's own files are compared with.
inline constexpr LevelRange kDeflateLevels{.min = 1, .standard = 6, .max = 12};

std::unique_ptr<const Compression> make_zlib(int level);
std::unique_ptr<const Compression> make_gzip(int level);
std::unique_ptr<const Compression> make_deflate(int level);

struct Inflated {
  Bytes bytes;
  // How much of the input the stream took; what follows it is not looked at.
  std::size_t consumed_size = 0;
};

// Decodes one stream at the start of `in`, for readers whose records may be padded
// or whose end is not known. `id` is zlib, gzip or deflate. The zlib and gzip
// checksums are verified. Of several gzip members only the first is decoded; the
// gzip Compression refuses the others as bytes left over, since no writer of worlds
// makes them and a silent concatenation would hide a damaged length.
Result<Inflated> inflate_prefix(CompressionId id, ByteView in, std::size_t output_size_limit);

// The same into a buffer that is used again, in which `in` must not lie; returns the
// consumed size.
Result<std::size_t> inflate_prefix_into(CompressionId id, ByteView in,
                                        std::size_t output_size_limit, Buffer& out);

}  // namespace varve
