// What a game calls a compression of its log, as the codec knows it.
#pragma once

#include "codec/compression.h"
#include "varve/storage_engine.h"

namespace varve::journal {

inline CompressionId compression_of(LogCompression compression) noexcept {
  switch (compression) {
    case LogCompression::none:
      return CompressionId::none;
    case LogCompression::lz4:
      return CompressionId::lz4;
    case LogCompression::zstd:
      return CompressionId::zstd;
  }
  return CompressionId::lz4;
}

}  // namespace varve::journal
