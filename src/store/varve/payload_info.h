// What the head of a frame says: docs/formats/varve_v1.md#payload has the fields.
#pragma once

#include <cstddef>
#include <cstdint>

#include "varve/checksum.h"

namespace varve {

// Checked before anything is allocated or written.
inline constexpr std::uint64_t kPayloadSizeMax = std::uint64_t{1} << 30;

// A frame is at most so much larger than its payload: what does not get smaller is stored as it is.
inline constexpr std::size_t kFrameOverheadMax = 16;

// No head is longer, so that many bytes of a frame are enough for inspect_payload().
inline constexpr std::size_t kFrameHeadSizeMax = 40;

// Both are written to disk: a number keeps its meaning for ever. Numbers that are not here belong
// to newer versions.
enum class PayloadTransform : std::uint8_t {
  none = 0,
  planes = 1,  // bytes regrouped by their place in a cell (codec/byte_planes.h)
  delta = 2,   // what differs from the generator's payload (codec/sparse_delta.h)
  shared = 3,  // none of its own: it names one that several chunks have (shared_payload.h)
};
enum class PayloadCompression : std::uint8_t {
  none = 0,
  lz4 = 1,              // one block, whose size is known from the head
  zstd = 2,             // one frame
  zstd_dictionary = 3,  // one frame that needs a dictionary of the save
};

struct PayloadInfo {
  PayloadTransform transform = PayloadTransform::none;
  PayloadCompression compression = PayloadCompression::none;
  // A hash of how the encoder was set; see holds_payload().
  std::uint16_t recipe = 0;
  std::uint64_t payload_size = 0;
  std::uint8_t stride = 0;              // planes: bytes of a cell, at least 2
  std::uint32_t dictionary_number = 0;  // zstd_dictionary: which one of the save
  std::uint32_t generator_number = 0;   // delta: which one in the save's table
  std::uint64_t base_hash = 0;          // delta: XXH3 of the payload it differs from
  std::uint64_t delta_size = 0;         // delta: its bytes before they were compressed
  Hash128 content_hash = {};            // shared: under which the save keeps the payload

  friend bool operator==(const PayloadInfo&, const PayloadInfo&) = default;

  // What the body is decompressed to, before the transform is undone.
  std::uint64_t expanded_size() const noexcept {
    return transform == PayloadTransform::delta ? delta_size : payload_size;
  }
};

}  // namespace varve
