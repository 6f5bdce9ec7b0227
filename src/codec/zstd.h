// zstd frames, with or without a trained dictionary.
//
// Frames carry their raw size but no checksum: what a store keeps, it checksums
// itself, over the compressed bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "codec/compression.h"

namespace varve {

// 1 has nearly the ratio of 3 on worlds and is the faster. Negative levels are
// faster still.
inline constexpr LevelRange kZstdLevels{.min = -7, .standard = 1, .max = 19};

// Which library compresses. Others read what it writes, but may write other bytes themselves.
std::uint32_t zstd_library_version() noexcept;

std::unique_ptr<const Compression> make_zstd(int level);

// A dictionary, digested for compressing at one level and for decompressing. It is
// immutable and may be shared by threads.
class ZstdDictionary {
 public:
  // Learns a dictionary of at most `size_max` bytes from records like those to be
  // compressed. Needs many small samples (a hundred times `size_max` in sum is
  // good); with too few it is invalid_argument.
  static Result<Bytes> train(std::span<const ByteView> samples, std::size_t size_max);

  // Digests what train() returned. Bytes that are no zstd dictionary with an id are
  // corruption: without an id, a frame could not tell which dictionary it needs.
  static Result<std::shared_ptr<const ZstdDictionary>> prepare(Bytes bytes,
                                                               int level = kZstdLevels.standard);

  ~ZstdDictionary();
  ZstdDictionary(const ZstdDictionary&) = delete;
  ZstdDictionary& operator=(const ZstdDictionary&) = delete;

  // Stands in every frame made with it.
  std::uint32_t id() const noexcept { return id_; }
  // To be stored beside what it compressed.
  const Bytes& bytes() const noexcept { return bytes_; }

 private:
  friend class Zstd;
  struct Digests;
  ZstdDictionary(Bytes bytes, std::uint32_t id, std::unique_ptr<Digests> digests) noexcept;

  Bytes bytes_;
  std::uint32_t id_;
  std::unique_ptr<Digests> digests_;
};

// zstd that compresses with the dictionary, at its level. It reads frames made with
// that dictionary and frames made with none. A frame that needs another one is
// `unsupported`, and the message names both: the bytes are good, the means to read
// them are missing.
std::unique_ptr<const Compression> make_zstd(std::shared_ptr<const ZstdDictionary> dictionary);

}  // namespace varve
