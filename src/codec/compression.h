// Compressions, named on disk by one byte.
//
// A store records the id beside what it compressed and finds the decoder by it
// again. To add a compression: give it a number in CompressionId, write its file,
// add one row to the table in compression.cpp and its name to the list in
// compression_test.cpp. Everything else goes by that table.
//
// Thread safety: a Compression is immutable and may be used from any number of
// threads at once; working memory belongs to the calling thread and is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/byte_writer.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

// Written to disk. A number keeps its meaning for ever and is never given to
// another compression, or old saves would be misread.
enum class CompressionId : std::uint8_t {
  none = 0,     // the bytes as they are
  lz4 = 1,      // u32 LE raw size, then one LZ4 block
  zstd = 2,     // one zstd frame
  zlib = 3,     // RFC 1950, what Anvil calls type 2
  gzip = 4,     // RFC 1952, one member
  deflate = 5,  // RFC 1951, no header and no checksum
};

class Compression {
 public:
  Compression(const Compression&) = delete;
  Compression& operator=(const Compression&) = delete;
  virtual ~Compression() = default;

  CompressionId id() const noexcept { return id_; }
  std::string_view name() const noexcept { return name_; }

  // Appends the compressed form of `in` to `out`. `out` must have room for the
  // worst case, which is a little more than `in`; a writer whose limit is smaller
  // fails with invalid_argument, even if the result would have fitted. Every
  // failure leaves in `out` what was there before.
  virtual Status compress(ByteView in, ByteWriter& out) const = 0;

  // The original of `in`, which is exactly one compressed unit: missing bytes and
  // bytes left over are corruption, and so is an original larger than
  // `output_size_limit`. No more than the limit is ever allocated for the output,
  // whatever `in` claims. The Bytes hold at most about twice their size, except
  // where the copy that takes would itself have passed the limit.
  Result<Bytes> decompress(ByteView in, std::size_t output_size_limit) const;

  // The same into a buffer that is used again: its block is kept while it is large
  // enough. `in` must not lie in `out`, whose old contents are dropped first. After a
  // failure its contents are indeterminate.
  virtual Status decompress_into(ByteView in, std::size_t output_size_limit, Buffer& out) const = 0;

 protected:
  Compression(CompressionId id, std::string_view name) noexcept : name_(name), id_(id) {}

 private:
  std::string_view name_;
  CompressionId id_;
};

// At its default level, alive for as long as the program.
const Compression& compression(CompressionId id) noexcept;

// The same for an id that was read from disk or a name a person typed ("lz4");
// nullptr if there is none such.
const Compression* find_compression(std::uint8_t id) noexcept;
const Compression* find_compression(std::string_view name) noexcept;

// All of them, by rising id.
std::span<const Compression* const> all_compressions() noexcept;

// The levels of a compression. Higher is smaller and slower; what is written at
// any level is read by all.
struct LevelRange {
  int min;
  int standard;
  int max;
};
LevelRange compression_levels(CompressionId id) noexcept;

// At another level than the default; invalid_argument outside the range.
Result<std::unique_ptr<const Compression>> make_compression(CompressionId id, int level);

}  // namespace varve
