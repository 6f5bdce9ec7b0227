#include "journal/wal_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/endian.h"
#include "base/try.h"
#include "varve/checksum.h"

namespace varve::journal {
namespace {

constexpr std::string_view kSegmentMagic = "RGBWAL";
constexpr std::string_view kMarkMagic = "RGBMRK";
constexpr std::uint16_t kVersion = 1;
constexpr std::string_view kSegmentSuffix = ".wal";
constexpr std::size_t kNameDigits = 16;

constexpr std::uint8_t kHasPrevious = 1;
constexpr std::uint8_t kAfterDamage = 2;

constexpr std::uint32_t kStored = 1u << 31;
constexpr std::uint32_t kBeginsGroup = 1u << 30;
constexpr std::uint32_t kBehindDurable = 1u << 29;
constexpr std::uint32_t kSizeMask = kBehindDurable - 1;

// Everything before the last field, which is its checksum.
template <std::size_t size>
std::array<std::byte, size> sealed(ByteWriter& w) {
  w.zeros(size - sizeof(std::uint32_t) - w.size());
  w.u32_le(crc32(w.view()));
  std::array<std::byte, size> out;
  std::copy_n(w.view().begin(), size, out.begin());
  return out;
}

// Magic, version and checksum.
Status check_sealed(ByteView in, std::size_t size, std::string_view magic, std::string_view what) {
  if (in.size() < size) {
    return corruption(fmt::format("{}: {} bytes, {} were expected", what, in.size(), size));
  }
  ByteReader r(in);
  r.expect(magic);
  const std::uint16_t version = r.u16_le();
  VARVE_TRY(r.status(what));
  const std::size_t covered_size = size - sizeof(std::uint32_t);
  if (load_le<std::uint32_t>(in.data() + covered_size) != crc32(in.first(covered_size))) {
    return corruption(fmt::format("{}: the checksum does not fit", what));
  }
  if (version != kVersion) {
    return unsupported(
        fmt::format("{}: version {}, this build reads version {}", what, version, kVersion));
  }
  return {};
}

}  // namespace

std::array<std::byte, kSegmentHeaderSize> encode_segment_header(const SegmentHeader& header) {
  ByteWriter w;
  w.text(kSegmentMagic);
  w.u16_le(kVersion);
  w.u64_le(header.segment_id);
  w.u64_le(header.start_tick);
  w.u8(static_cast<std::uint8_t>(header.codec));
  w.u8(static_cast<std::uint8_t>(std::countr_zero(header.alignment)));
  w.u8(static_cast<std::uint8_t>((header.previous ? kHasPrevious : 0) |
                                 (header.after_damage ? kAfterDamage : 0)));
  w.zeros(5);
  const Link previous = header.previous.value_or(Link{});
  w.u64_le(previous.segment_id);
  w.u64_le(previous.tick);
  return sealed<kSegmentHeaderSize>(w);
}

Result<SegmentHeader> decode_segment_header(ByteView in) {
  VARVE_TRY(check_sealed(in, kSegmentHeaderSize, kSegmentMagic, "segment header"));
  ByteReader r(in.subspan(kSegmentMagic.size() + sizeof kVersion));
  SegmentHeader header{.segment_id = r.u64_le(), .start_tick = r.u64_le()};
  const std::uint8_t codec = r.u8();
  const std::uint8_t alignment_log2 = r.u8();
  const std::uint8_t flags = r.u8();
  r.skip(5);
  const Link previous{.segment_id = r.u64_le(), .tick = r.u64_le()};
  VARVE_TRY(r.status("segment header"));
  if (find_compression(codec) == nullptr) {
    return unsupported(fmt::format("segment header: no compression has the number {}", codec));
  }
  if (alignment_log2 > std::countr_zero(kAlignmentMax)) {
    return corruption(fmt::format("segment header: an alignment of 2^{} bytes", alignment_log2));
  }
  header.codec = static_cast<CompressionId>(codec);
  header.alignment = 1u << alignment_log2;
  header.after_damage = (flags & kAfterDamage) != 0;
  if ((flags & kHasPrevious) == 0) return header;
  if (previous.segment_id >= header.segment_id || previous.tick >= header.start_tick) {
    return corruption("segment header: what it follows does not lie before it");
  }
  header.previous = previous;
  return header;
}

std::string segment_name(std::uint64_t segment_id) {
  return fmt::format("{:016x}{}", segment_id, kSegmentSuffix);
}

std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  if (name.size() != kNameDigits + kSegmentSuffix.size() || !name.ends_with(kSegmentSuffix)) {
    return std::nullopt;
  }
  std::uint64_t id = 0;
  const auto read = std::from_chars(name.data(), name.data() + kNameDigits, id, 16);
  // Written back, so that each number has one name.
  if (read.ec != std::errc() || segment_name(id) != name) return std::nullopt;
  return id;
}

std::uint32_t length_field(const EntryHeader& header) noexcept {
  return header.payload_size | (header.is_stored ? kStored : 0) |
         (header.begins_group ? kBeginsGroup : 0) | (header.is_behind_durable ? kBehindDurable : 0);
}

void encode_entry_header(const EntryHeader& header, std::byte* to) noexcept {
  store_le<std::uint32_t>(to, length_field(header));
  store_le<std::uint64_t>(to + 4, header.tick);
  store_le<std::uint32_t>(to + 12, header.checksum);
}

std::optional<EntryHeader> decode_entry_header(ByteView in) noexcept {
  if (in.size() < kEntryHeaderSize) return std::nullopt;
  const auto length = load_le<std::uint32_t>(in.data());
  const EntryHeader header{.payload_size = length & kSizeMask,
                           .is_stored = (length & kStored) != 0,
                           .begins_group = (length & kBeginsGroup) != 0,
                           .is_behind_durable = (length & kBehindDurable) != 0,
                           .tick = load_le<std::uint64_t>(in.data() + 4),
                           .checksum = load_le<std::uint32_t>(in.data() + 12)};
  if (header.payload_size > kPayloadSizeMax) return std::nullopt;
  return header;
}

std::uint32_t entry_checksum(const EntryHeader& header, ByteView payload,
                             std::uint64_t segment_id) noexcept {
  std::byte head[12];
  store_le<std::uint32_t>(head, length_field(header));
  store_le<std::uint64_t>(head + 4, header.tick);
  std::byte id[8];
  store_le<std::uint64_t>(id, segment_id);
  return crc32(id, crc32(payload, crc32(head)));
}

std::array<std::byte, kMarkSize> encode_mark(const Mark& mark) {
  ByteWriter w;
  w.text(kMarkMagic);
  w.u16_le(kVersion);
  w.u64_le(mark.oldest_segment_id);
  w.u8(mark.closed_at ? 1 : 0);
  w.zeros(7);
  const Link closed_at = mark.closed_at.value_or(Link{});
  w.u64_le(closed_at.segment_id);
  w.u64_le(closed_at.tick);
  return sealed<kMarkSize>(w);
}

Result<Mark> decode_mark(ByteView in) {
  VARVE_TRY(check_sealed(in, kMarkSize, kMarkMagic, "mark"));
  ByteReader r(in.subspan(kMarkMagic.size() + sizeof kVersion));
  Mark mark{.oldest_segment_id = r.u64_le()};
  const bool is_closed = r.u8() != 0;
  r.skip(7);
  const Link closed_at{.segment_id = r.u64_le(), .tick = r.u64_le()};
  VARVE_TRY(r.status("mark"));
  if (is_closed) mark.closed_at = closed_at;
  return mark;
}

}  // namespace varve::journal
