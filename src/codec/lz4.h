// LZ4 blocks, and the form with the raw size in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/byte_writer.h"
#include "codec/compression.h"

namespace varve {

// 1 and 2 are the fast compressor, 3 and up the thorough one.
inline constexpr LevelRange kLz4Levels{.min = 1, .standard = 1, .max = 12};

// Which library compresses. Others read what it writes, but may write other bytes themselves.
std::uint32_t lz4_library_version() noexcept;

// u32 LE raw size, then one block.
std::unique_ptr<const Compression> make_lz4(int level);

// One bare block, for formats that keep the sizes elsewhere (Anvil's LZ4 streams).
Status lz4_compress_block(ByteView in, int level, ByteWriter& out);

// `in` must decode to exactly out.size() bytes.
Status lz4_decompress_block(ByteView in, std::span<std::byte> out);

}  // namespace varve
