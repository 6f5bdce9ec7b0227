#include "store/varve/payload_frame.h"

#include <fmt/format.h>

#include <limits>

#include "base/byte_reader.h"
#include "base/try.h"
#include "codec/varint.h"
#include "varve/checksum.h"

namespace varve {
namespace {

constexpr std::size_t kRecipeOffset = kChecksumSize + 1;  // behind the form
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint32_t>::max();

std::uint64_t checksum_of(ByteView key, ByteView behind) noexcept {
  return xxh3(behind, xxh3(key));
}

constexpr std::uint8_t form_of(const PayloadInfo& info) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(info.transform) << 4 |
                                   static_cast<unsigned>(info.compression));
}

// Each spelling that nothing writes is refused, so that no second one comes into use.
void check_fields(const PayloadInfo& info, ByteReader& r) {
  const bool is_compressed = info.compression != PayloadCompression::none;
  if (info.payload_size == 0 && (info.transform != PayloadTransform::none || is_compressed)) {
    r.fail("nothing is stored as something");
  }
  if (info.transform == PayloadTransform::planes) {
    if (info.stride < 2) r.fail("planes of cells below two bytes");
    if (!is_compressed) r.fail("planes that are not compressed");
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
  out.u64_le(0);
  out.u8(form_of(info));
  out.u16_le(info.recipe);
  out.varint(info.payload_size);
  if (info.transform == PayloadTransform::planes) out.u8(info.stride);
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
  out.patch_u64_le(start, checksum_of(key, out.view().subspan(start + kChecksumSize)));
}

void seal_frame_around(ByteView key, std::size_t start, ByteView body, ByteWriter& out) {
  if (!out.ok()) return;
  const ByteView head = out.view().subspan(start + kChecksumSize);
  out.patch_u64_le(start, xxh3_of_two(head, body, xxh3(key)));
}

Status check_seal(ByteView key, ByteView frame) {
  ByteReader r(frame);
  const std::uint64_t checksum = r.u64_le();
  VARVE_TRY(r.status("payload: head"));
  const std::uint64_t found = checksum_of(key, behind_checksum(frame));
  if (checksum == found) return {};
  return corruption(
      fmt::format("payload: {} bytes with checksum {:016x} where {:016x} is expected: they are "
                  "damaged, or stood under another key",
                  frame.size(), found, checksum));
}

std::optional<std::uint16_t> recipe_of(ByteView frame) noexcept {
  if (frame.size() < kRecipeOffset + sizeof(std::uint16_t)) return std::nullopt;
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
  info.recipe = r.u16_le();
  info.payload_size = minimal_varint(r, kPayloadSizeMax);
  if (info.transform == PayloadTransform::planes) info.stride = r.u8();
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
