// What is stored in an LMDB file: docs/formats/varve_lmdb_v1.md. Keep that page in step.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "varve/backend.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve::lmdb {

constexpr std::string_view kDataName = "varve.data";
constexpr std::string_view kMetaName = "varve.meta";
constexpr std::string_view kHeadKey = "head";
constexpr std::uint32_t kFormatVersion = 1;

// Before each value: LMDB has no checksums of its own.
constexpr std::size_t kSealSize = 8;

// Puts checksum and value into `out`, which has kSealSize bytes more than the value.
void seal(ByteView key, const BatchValue& value, std::span<std::byte> out);

// The value in what was stored, borrowed. corruption, naming the key, if the checksum is not that
// of this key and value. Throws std::bad_alloc.
Result<ByteView> unseal(ByteView key, ByteView stored);

// Changes with every batch, in the same transaction.
struct Head {
  std::uint64_t sequence = 0;
  std::uint64_t live_size = 0;  // of all keys and values
};
constexpr std::size_t kHeadSize = 20;

// Throws std::bad_alloc.
Bytes encode_head(const Head& head);
// unsupported for a later format. Throws std::bad_alloc.
Result<Head> decode_head(ByteView in);

}  // namespace varve::lmdb
