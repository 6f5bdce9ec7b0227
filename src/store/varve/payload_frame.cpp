#include "store/varve/payload_frame.h"

#include <fmt/format.h>

#include <cassert>
#include <limits>

#include "base/byte_reader.h"
#include "base/chained_hash.h"
#include "base/endian.h"
#include "base/try.h"
#include "codec/varint.h"
#include "varve/checksum.h"

namespace varve {
namespace {

// What every frame has in one place; read_head() reads them in this order.
constexpr std::size_t kFormOffset = kChecksumSize;
constexpr std::size_t kStrideOffset = kFormOffset + 1;
constexpr std::size_t kRecipeOffset = kStrideOffset + 1;
constexpr std::size_t kPayloadSizeOffset = kRecipeOffset + 2;
static_assert(kPayloadSizeOffset + 4 == kFrameStartSize);
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint32_t>::max();

// `start` is the first bytes of a frame.
std::uint64_t checksum_of(ByteView key, ByteView start, std::uint64_t rest_hash) noexcept {
  return chained_hash(behind_checksum(start), rest_hash, xxh3(key));
}

// The whole frame is there.
std::uint64_t checksum_of(ByteView key, ByteView frame) noexcept {
  return checksum_of(key, frame.first(kFrameStartSize), xxh3(frame.subspan(kFrameStartSize)));
}

constexpr std::uint8_t form_of(const PayloadInfo& info) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(info.transform) << 4 |
                                   static_cast<unsigned>(info.compression));
}

// The checksum is still to come.
FrameStart encode_start(const PayloadInfo& info) noexcept {
  assert(info.payload_size >> 32 == 0);
  FrameStart start = {};
  store_le(start.data() + kFormOffset, form_of(info));
  store_le(start.data() + kStrideOffset, info.stride);
  store_le(start.data() + kRecipeOffset, info.recipe);
  store_le(start.data() + kPayloadSizeOffset, static_cast<std::uint32_t>(info.payload_size));
  return start;
}

// Each spelling that nothing writes is refused, so that no second one comes into use.
void check_fields(const PayloadInfo& info, ByteReader& r) {
  const bool is_compressed = info.compression != PayloadCompression::none;
  if (info.payload_size == 0 && (info.transform != PayloadTransform::none || is_compressed)) {
    r.fail("nothing is stored as something");
  }
  if (info.payload_size > kPayloadSizeMax) r.fail("a payload larger than any may be");
  if (info.transform == PayloadTransform::planes) {
    if (info.stride < 2) r.fail("planes of cells below two bytes");
    if (!is_compressed) r.fail("planes that are not compressed");
  } else if (info.stride != 0) {
    r.fail("cells of what is not in planes");
  }
  // Bounds what decoding takes: never more than the payload, its delta and the base.
  if (info.transform == PayloadTransform::delta && info.delta_size >= info.payload_size) {
    r.fail("delta larger than what it stands for");
  }
  if (info.transform == PayloadTransform::shared && is_compressed) {
    r.fail("a shared payload that is compressed here");
  }
}

}  // namespace

void begin_frame(const PayloadInfo& info, ByteWriter& out) {
  out.bytes(encode_start(info));
  if (info.transform == PayloadTransform::delta) {
    out.varint(info.generator_number);
    out.u64_le(info.base_hash);
    out.varint(info.delta_size);
  }
  if (info.transform == PayloadTransform::shared) {
    out.u64_be(info.content_hash.high);
    out.u64_be(info.content_hash.low);
  }
  if (info.compression == PayloadCompression::zstd_dictionary) out.varint(info.dictionary_number);
}

void seal_frame(ByteView key, std::size_t start, ByteWriter& out) {
  if (!out.ok()) return;
  assert(out.size() - start >= kFrameStartSize);
  out.patch_u64_le(start, checksum_of(key, out.view().subspan(start)));
}

FrameStart raw_frame_start(ByteView key, std::uint16_t recipe,
                           const HashedBytes& payload) noexcept {
  FrameStart start = encode_start({.recipe = recipe, .payload_size = payload.size()});
  store_le<std::uint64_t>(start.data(), checksum_of(key, start, payload.hash()));
  return start;
}

Status check_seal(ByteView key, ByteView frame) {
  if (frame.size() < kFrameStartSize) {
    return corruption(fmt::format("payload: {} bytes, fewer than any frame has", frame.size()));
  }
  const auto checksum = load_le<std::uint64_t>(frame.data());
  const std::uint64_t found = checksum_of(key, frame);
  if (checksum == found) return {};
  return corruption(
      fmt::format("payload: {} bytes with checksum {:016x} where {:016x} is expected: they are "
                  "damaged, or stood under another key",
                  frame.size(), found, checksum));
}

std::optional<std::uint16_t> recipe_of(ByteView frame) noexcept {
  if (frame.size() < kFrameStartSize) return std::nullopt;
  return load_le<std::uint16_t>(frame.data() + kRecipeOffset);
}

Result<std::pair<PayloadInfo, std::size_t>> read_head(ByteView frame) {
  ByteReader r(frame);
  r.skip(kChecksumSize);
  const std::uint8_t form = r.u8();
  VARVE_TRY(r.status("payload: head"));
  PayloadInfo info{.transform = static_cast<PayloadTransform>(form >> 4),
                   .compression = static_cast<PayloadCompression>(form & 15)};
  if (info.transform > PayloadTransform::shared ||
      info.compression > PayloadCompression::zstd_dictionary) {
    return unsupported(fmt::format(
        "payload: form {:02x} is not known here; a newer version of Varve wrote it", form));
  }
  info.stride = r.u8();
  info.recipe = r.u16_le();
  info.payload_size = r.u32_le();
  if (info.transform == PayloadTransform::delta) {
    info.generator_number = static_cast<std::uint32_t>(minimal_varint(r, kNumberMax));
    info.base_hash = r.u64_le();
    info.delta_size = minimal_varint(r, kPayloadSizeMax);
  }
  if (info.transform == PayloadTransform::shared) {
    info.content_hash.high = r.u64_be();
    info.content_hash.low = r.u64_be();
  }
  if (info.compression == PayloadCompression::zstd_dictionary) {
    info.dictionary_number = static_cast<std::uint32_t>(minimal_varint(r, kNumberMax));
  }
  check_fields(info, r);
  VARVE_TRY(r.status("payload: head"));
  return std::pair(info, r.offset());
}

}  // namespace varve
